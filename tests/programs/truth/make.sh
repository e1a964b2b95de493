#!/bin/sh
# Builds the program and makes its dumps with their records.
#
#   make.sh RUNTIME OUTDIR [SIZE]     truth.core and truth.slt, and a pair for each end that a process can take
#
# RUNTIME is a folder with 'dotnet' and shared/Microsoft.NETCore.App/VERSION; the SDK must be on the path. SIZE is that
# of the long lists (1000).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
dotnet build "$here/truth.csproj" -c Release -o "$out/bin" --nologo -v q -p:BaseIntermediateOutputPath="$out/obj/" -p:PathMap="$here=/src/truth"
"$here/../dump.sh" "$1" "$out/bin/truth.dll" "$out/truth" SIZE="${3:-1000}"
for mode in crash-stackoverflow crash-unhandled crash-nullreference crash-failfast; do
    "$here/../dump.sh" "$1" "$out/bin/truth.dll" "$out/$mode" MODE=$mode
done
