#!/bin/sh
# Runs every example against the shipped dump, where its host is installed.
#
#   examples_test.sh MODULE SOURCE DUMP
#
# The last line is 'N passed, N failed'; what was left out says why.
set -eu
module=$1 source=$2 dump=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CLRDB_MODULE="$module" CLRDB="$source/ext/clrdb.sh"
passed=0 failed=0

# check NAME PATTERN COMMAND...: it ends well and prints a line that matches.
check() {
    name=$1 pattern=$2
    shift 2
    if "$@" > "$work/out" 2>&1 && grep -Eq "$pattern" "$work/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$name: fails, or prints no line like '$pattern'"
        sed 's/^/    /' "$work/out"
    fi
}
skip() { echo "$1: left out, $2"; }

check clrdb '^6397$' "$CLRDB" "$dump" "SELECT count(*) FROM objects"
check clrdb-csv '^name,object_count' "$CLRDB" -csv "$dump" "SELECT name, object_count FROM type_stats"
check clrdb-options '^1$' "$CLRDB" -o '{"threads": 1}' "$dump" "SELECT count(*) FROM dump_info"
check clrdb-error 'No such file' sh -c '! "$0" "$1" "SELECT 1" 2>&1' "$CLRDB" "$work/absent"
check leak.sql '^System\.Byte\[\] +139 +409176' sh -c '"$0" "$1" < "$2"' "$CLRDB" "$dump" "$source/examples/leak.sql"
check export-csv.sh 'problems.csv' "$source/examples/export-csv.sh" "$dump" "$work/csv"
check export-csv-rows '^6374$' sh -c 'wc -l < "$0"' "$work/csv/objects.csv"

row='^ *409,?176 +139  System\.Byte\[\]$'
if /usr/bin/python3 -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2> /dev/null; then
    check leaks.py "$row" /usr/bin/python3 "$source/examples/python/leaks.py" "$dump"
else
    skip leaks.py "no /usr/bin/python3 that loads extensions"
fi
if [ -n "${LD_PRELOAD:-}" ]; then
    skip top.mjs "the module is built with sanitizers"
elif node -e 'require(process.env.BETTER_SQLITE3 || "better-sqlite3")' 2> /dev/null; then
    check top.mjs "$row" node "$source/examples/node/top.mjs" "$dump"
else
    skip top.mjs "no node with better-sqlite3 (\$BETTER_SQLITE3: its folder)"
fi
if [ -n "${LD_PRELOAD:-}" ]; then
    skip Program.cs "the module is built with sanitizers"
elif command -v dotnet > /dev/null && cp -r "$source/examples/dotnet" "$work/dotnet" &&
    dotnet restore "$work/dotnet" > "$work/restore" 2>&1; then
    check Program.cs "$row" dotnet run --project "$work/dotnet" --no-restore -- "$dump"
else
    skip Program.cs "no dotnet SDK, or its packages cannot be fetched"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
