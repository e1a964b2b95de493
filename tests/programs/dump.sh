#!/bin/sh
# Runs a program that writes golden records of itself, and dumps it with the runtime's own createdump.
#
#   dump.sh RUNTIME DLL OUT [NAME=VALUE...]      makes OUT.core and OUT.slt
#
# RUNTIME is a folder with 'dotnet' and shared/Microsoft.NETCore.App/VERSION. The program finds the name of its file of
# records in RECORDS, prints 'ready PID' and waits; or, with MODE=crash-..., ends, and the runtime writes the dump. Its
# environment is otherwise empty but for NAME=VALUE.
set -eu
runtime=$1 dll=$2 out=$3
shift 3
crash=
for setting; do case $setting in MODE=crash-*) crash=1 ;; esac; done
framework=$(ls -d "$runtime"/shared/Microsoft.NETCore.App/*)
work=$(mktemp -d)
child=
trap 'rm -rf "$work"; [ -z "$child" ] || kill "$child" 2> /dev/null || true' EXIT

run() {
    exec env -i PATH=/usr/bin HOME=/ LANG=C.UTF-8 DOTNET_ROLL_FORWARD=Major RECORDS="$out.slt" "$@" "$runtime/dotnet" "$dll"
}

rm -f "$out.core" "$out.slt"
if [ -n "$crash" ]; then
    { (run DOTNET_DbgEnableMiniDump=1 DOTNET_DbgMiniDumpType=2 DOTNET_DbgMiniDumpName="$out.core" "$@") > "$work/log" 2>&1 || true; } 2> /dev/null
else
    mkfifo "$work/in"
    (run "$@") < "$work/in" > "$work/log" 2>&1 &
    child=$!
    exec 9> "$work/in"
    pid=
    while pid=$(sed -n 's/^ready //p' "$work/log") && [ -z "$pid" ] && kill -0 "$child" 2> /dev/null; do sleep 0.1; done
    [ -n "$pid" ] && "$framework/createdump" --withheap -f "$out.core" "$pid" >> "$work/log" 2>&1 || true
    exec 9>&-
    wait "$child" || true
    child=
fi
if [ ! -s "$out.core" ] || [ ! -s "$out.slt" ]; then
    cat "$work/log" >&2
    exit 1
fi
