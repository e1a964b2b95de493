#!/bin/sh
# Runs a program's golden records against its dump, and says what fails by section.
#
#   check.sh RUNNER MODULE DUMP RECORDS [NAME=VALUE...]     prints each failure under its section's name;
#                                                           the last line is 'N passed, N failed'
#
# RUNNER is tests/runner of a build. RECORDS is what the program wrote beside DUMP.
set -eu
runner=$1 module=$2 dump=$3 records=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
"$runner" --module "$module" DUMP="$dump" "$@" "$records" > "$work/out" 2>&1 || status=$?
awk -v records="$records" '
    BEGIN { while ((getline line < records) > 0) { n++; if (sub(/^# == /, "", line)) section = line; of[n] = section; text[n] = line } }
    index($0, records ":") == 1 {
        split(substr($0, length(records) + 2), part, ":")
        at = part[1] + 0
        if (of[at] != last) printf "%s\n", last = of[at]
        sub(/^[^:]*:[0-9]+: /, "")
        printf "  line %d: %s\n", at, $0
        for (i = at + 1; i <= n && text[i] != "" && text[i] != "----"; i++) printf "    | %s\n", text[i]
        next }
    { print }' "$work/out"
exit $status
