#!/bin/sh
# Runs every query of docs/cookbook.md against the shipped dump.
#
#   cookbook_test.sh MODULE SOURCE DUMP
#
# A query is a block that begins with ```sql. It must run without an error and give rows; a block
# that begins with ```sql none gives none on this dump. ```sql two: the dump is attached twice, as
# before and after. The last line is 'N passed, N failed'.
set -eu
module=$1 page=$2/docs/cookbook.md dump=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -v work="$work" '
    /^```sql/ { n++; kind = $2 == "" ? "one" : $2; file = sprintf("%s/%03d.%s.%d.sql", work, n, kind, NR); next }
    /^```/ { file = ""; next }
    file != "" { print > file }' "$page"

passed=0 failed=0
for file in "$work"/*.sql; do
    [ -f "$file" ] || break
    name=${file##*/}
    kind=$(echo "$name" | cut -d. -f2) line=$(echo "$name" | cut -d. -f3)
    case $kind in
    one | none) attach="SELECT clr_attach('$dump');" ;;
    two) attach="SELECT clr_attach('$dump', 'before'); SELECT clr_attach('$dump', 'after');" ;;
    *) attach="SELECT 'unknown kind of block' FROM $kind;" ;;
    esac
    status=0
    {
        printf '.bail on\n.load "%s"\n.output /dev/null\n%s\n.output stdout\n' "$module" "$attach"
        cat "$file"
    } | sqlite3 -batch -init /dev/null :memory: > "$work/out" 2> "$work/err" || status=$?
    rows=$(wc -l < "$work/out") wanted=no
    case $kind in
    none) [ "$rows" -gt 0 ] || wanted=yes ;;
    *) [ "$rows" -eq 0 ] || wanted=yes ;;
    esac
    if [ $status -eq 0 ] && [ ! -s "$work/err" ] && [ $wanted = yes ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$page:$line: status $status, $rows rows"
        sed 's/^/    /' "$work/err"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
