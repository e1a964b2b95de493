#!/bin/bash
# Builds real applications from public packages, runs each on several runtimes, dumps it under load, and holds the
# dump against what the application wrote about itself before.
#
#   run.sh MODULE WORK [NAME...]
#
# MODULE   clrdb.so
# WORK     a folder for packages, runtimes, programs, and the results NAME-RUNTIME.core, .facts and .txt
# NAME     sweep plugins web data actors trees crash overflow; all of them if none is named
#
# Variables: RUNTIMES, the versions of Microsoft.NETCore.App.Runtime.linux-x64 (11.0.0 10.0.15 8.0.34);
# KINDS of GC for sweep (ws svr); TRIES, how many dumps sweep takes until one falls into the sweep of a background
# GC (40);
# CHECK=0 only makes the dumps; DUMPS=0 only checks those that are there.
# PYTHON, one whose sqlite3 loads extensions (/usr/bin/python3).
# Needs the .NET SDK 10 and a registry for NuGet. Part of no test run: it takes minutes, and dumps of 70 to 400 MB
# each. Ends with 'N passed, N failed'.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,18p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
module=$(realpath "$1"); work=$(realpath -m "$2"); shift 2
names=("$@"); [ $# -gt 0 ] || names=(sweep plugins web data actors trees crash overflow)
read -ra runtimes <<< "${RUNTIMES:-11.0.0 10.0.15 8.0.34}"
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$work/packages"
child=
trap '[ -z "$child" ] || kill -9 "$child" 2> /dev/null || true' EXIT

# The runtime and ASP.NET's framework of one version, as an installed dotnet has them.
lay_runtime() {
    local version=$1 root=$work/runtimes/$1 pack fx
    [ ! -d "$root" ] || return 0
    mkdir -p "$work/restore"
    cat > "$work/restore/restore.csproj" << Y
<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework>
<RestorePackagesPath>$work/packages</RestorePackagesPath></PropertyGroup><ItemGroup>
<PackageDownload Include="Microsoft.NETCore.App.Runtime.linux-x64" Version="[$version]" />
<PackageDownload Include="Microsoft.AspNetCore.App.Runtime.linux-x64" Version="[$version]" />
</ItemGroup></Project>
Y
    dotnet restore "$work/restore/restore.csproj" -v q
    rm -rf "$root.tmp"
    for kind in NETCore AspNetCore; do
        pack=$work/packages/microsoft.${kind,,}.app.runtime.linux-x64/$version/runtimes/linux-x64
        fx=$root.tmp/shared/Microsoft.$kind.App/$version
        mkdir -p "$fx"
        cp "$pack"/lib/net*/* "$fx/"
        [ ! -d "$pack/native" ] || cp "$pack"/native/* "$fx/"
    done
    mkdir -p "$root.tmp/host/fxr/$version"
    fx=$root.tmp/shared/Microsoft.NETCore.App/$version
    mv "$fx/libhostfxr.so" "$root.tmp/host/fxr/$version/"
    cp "$(dirname "$(readlink -f "$(command -v dotnet)")")/dotnet" "$root.tmp/"
    rm -f "$root.tmp"/shared/*/"$version"/*.runtimeconfig.json
    chmod +x "$fx/createdump"
    mv "$root.tmp" "$root"
}

# build NAME VERSION: the program in $work/programs/NAME-VERSION. The sources are copied, so that nothing is built
# in them. ASP.NET's application is published with its runtime, as a container has it.
build() {
    local name=$1 version=$2 major=${2%%.*} out=$work/programs/$1-$2 source=$work/source/$2
    if [ -f "$out/$name.dll" ] && [ -z "$(find "$here/$name" "$here/facts" -newer "$out/$name.dll" -type f)" ]; then return 0; fi
    mkdir -p "$source"
    cp -r "$here/facts" "$here/$name" "$here/Directory.Build.props" "$source/"
    local options=(-c Release -v q --nologo -o "$out" -p:Major="$major" -p:RestorePackagesPath="$work/packages")
    rm -rf "$out"
    if [ "$name" = web ]; then
        dotnet publish "$source/$name" "${options[@]}" -r linux-x64 --self-contained \
            -p:RuntimeFrameworkVersion="$version" || return 1
    else
        dotnet build "$source/$name" "${options[@]}" || return 1
    fi
    touch "$out/$name.dll"
}

# start NAME VERSION CORE [VARIABLE=VALUE...]: runs it until it says that it is ready; sets child and pid.
start() {
    local name=$1 version=$2 core=$3 out=$work/programs/$1-$2 root=$work/runtimes/$2 run
    shift 3
    run=("$root/dotnet" "$out/$name.dll")
    [ ! -f "$out/libcoreclr.so" ] || run=("$out/$name")
    rm -f "$core.in" "${core%.core}.facts"; mkfifo "$core.in"
    (cd "$out" && exec env -i PATH=/usr/bin HOME="$out" LANG=C.UTF-8 DOTNET_ROLL_FORWARD=Major \
        DOTNET_GCHeapHardLimit=0x18000000 "$@" nice "${run[@]}" "${core%.core}.facts" ${mode:-} < "$core.in" > "$core.log" 2>&1) &
    child=$!
    exec 9> "$core.in"
    rm -f "$core.in"
    for _ in $(seq 1800); do
        grep -q '^ready' "$core.log" && break
        kill -0 "$child" 2> /dev/null || break
        sleep 0.1
    done
    pid=$(awk '/^ready/ { print $2; exit }' "$core.log")
}

finish() { # closes its input; a program that does not end is ended
    exec 9>&-
    for _ in $(seq 50); do kill -0 "$child" 2> /dev/null || break; sleep 0.1; done
    kill -9 "$child" 2> /dev/null || true
    wait "$child" 2> /dev/null || true
    child=
    rm -f "$1.log"
}

createdump() { # createdump NAME VERSION CORE
    local tool=$work/programs/$1-$2/createdump
    [ -f "$tool" ] || tool=$work/runtimes/$2/shared/Microsoft.NETCore.App/$2/createdump
    chmod +x "$tool"
    nice "$tool" --withheap -f "$3" "$pid" >> "$3.log" 2>&1
}

dump() { # dump NAME VERSION CORE [VARIABLE=VALUE...]
    local name=$1 version=$2 core=$3
    start "$@"
    [ -n "$pid" ] || { tail -40 "$core.log" >&2; return 1; }
    createdump "$name" "$version" "$core" || { tail -20 "$core.log" >&2; return 1; }
    finish "$core"
}

# Dumps again and again until one falls into the sweep of a background GC.
dump_sweep() {
    local version=$1 core=$2 try
    shift 2
    start sweep "$version" "$core" "$@"
    [ -n "$pid" ] || { tail -40 "$core.log" >&2; return 1; }
    for try in $(seq "${TRIES:-40}"); do
        createdump sweep "$version" "$core" || { tail -20 "$core.log" >&2; return 1; }
        "$python" "$here/check.py" "$module" "$core" --background && { finish "$core"; return 0; }
        sleep "0.0$((RANDOM % 90 + 10))"
    done
    finish "$core"
    echo "$core: no dump of $try fell into a sweep" >&2
}

# The runtime writes the dump itself when the program dies.
dump_crash() { # dump_crash MODE VERSION CORE
    local mode=$1 version=$2 core=$3
    rm -f "$core"
    start crash "$version" "$core" DOTNET_DbgEnableMiniDump=1 DOTNET_DbgMiniDumpType=2 DOTNET_DbgMiniDumpName="$core"
    exec 9>&-
    wait "$child" 2> /dev/null || true
    child=
    [ -s "$core" ] || { tail -40 "$core.log" >&2; return 1; }
    rm -f "$core.log"
}

passed=0 failed=0
each() { # each NAME VERSION RESULT [VARIABLE=VALUE...]
    local name=$1 version=$2 result=$work/$3 program=$1
    shift 3
    case $name in crash | overflow) program=crash ;; esac
    if [ "${DUMPS:-1}" = 1 ]; then
        lay_runtime "$version"
        rm -f "$result.core"
        if ! build "$program" "$version"; then
            echo "$result: does not build" | tee "$result.txt"
            failed=$((failed + 1))
            return 0
        fi
        case $name in
        sweep) dump_sweep "$version" "$result.core" "$@" ;;
        crash | overflow) dump_crash "$name" "$version" "$result.core" ;;
        *) dump "$name" "$version" "$result.core" ;;
        esac || { echo "$result: no dump" | tee "$result.txt"; failed=$((failed + 1)); return 0; }
    fi
    [ "${CHECK:-1}" = 1 ] || return 0
    nice "$python" "$here/check.py" "$module" "$result.core" "$result.facts" \
        --images "$work/programs/$program-$version" "$work/runtimes/$version/shared" > "$result.txt" 2>&1 || true
    local last; last=$(tail -1 "$result.txt")
    echo "$(basename "$result"): $last"
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        failed=$((failed + 1))
    fi
}

for version in "${runtimes[@]}"; do
    for name in "${names[@]}"; do
        if [ "$name" = sweep ]; then
            for kind in ${KINDS:-ws svr}; do
                if [ "$kind" = svr ]; then
                    each sweep "$version" "sweep-svr-$version" DOTNET_GCHeapHardLimit=0x10000000 DOTNET_gcServer=1 DOTNET_GCHeapCount=2 DOTNET_GCDynamicAdaptationMode=0
                else
                    each sweep "$version" "sweep-ws-$version" DOTNET_GCHeapHardLimit=0x10000000
                fi
            done
        else
            each "$name" "$version" "$name-$version"
        fi
    done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
