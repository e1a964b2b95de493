#!/bin/sh
# Builds the program and makes its dumps with their records: none, small and large.
#
#   make.sh RUNTIME OUTDIR
#
# RUNTIME is a folder with 'dotnet' and shared/Microsoft.NETCore.App/VERSION; the SDK must be on the path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
dotnet build "$here/recipes.csproj" -c Release -o "$out/bin" --nologo -v q -p:BaseIntermediateOutputPath="$out/obj/" -p:PathMap="$here=/src/recipes"
for size in none small large; do
    "$here/../dump.sh" "$1" "$out/bin/recipes.dll" "$out/recipes-$size" SIZE=$size
done
