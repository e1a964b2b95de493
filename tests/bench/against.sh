#!/bin/sh
# The same questions to dotnet-dump and to clrdb, in turn; seconds of each as a whole process.
#
#   against.sh MODULE CORE [FOLDER]    FOLDER: of the dump's runtime, if it is not where it was
set -eu
module=$1 core=$2 folder=${3:-}
command -v dotnet-dump > /dev/null || { echo 'against.sh: dotnet-dump is not installed' >&2; exit 2; }

output=$(mktemp)
trap 'rm -f "$output"' EXIT

seconds() { # of a command, whose output is thrown away
    start=$(date +%s.%N)
    "$@" > "$output" 2>&1 || { cat "$output" >&2; exit 1; }
    echo "$start $(date +%s.%N)" | awk '{ printf "%.2f", $2 - $1 }'
}

theirs() {
    dotnet-dump analyze "$core" ${folder:+-c "setclrpath $folder"} -c "$1" -c exit
    ! grep -q 'No CLR runtime found' "$output"
}

ours() {
    printf '.load %s\nSELECT clr_attach('"'%s'"');\n%s\n' "$module" "$core" "$1" |
        sqlite3 -batch -bail -init /dev/null :memory:
}

compare() { # name, their command, our query
    other=$(seconds theirs "$2")
    mine=$(seconds ours "$3")
    echo "$1 $other $mine" | awk '{ printf "%-22s %8.2f s %8.2f s   %.2f\n", $1, $2, $3, $3 / $2 }'
}

address=$(ours 'SELECT clr_hex(address) FROM objects ORDER BY address DESC LIMIT 1;' | tail -1)
printf '%-22s %10s %10s   ratio\n' question dotnet-dump clrdb
compare histogram 'dumpheap -stat' 'SELECT name, object_count, total_size FROM type_stats;'
compare live-histogram 'dumpheap -live -stat' 'SELECT name, reachable_count, reachable_size FROM type_stats;'
compare path "gcroot $address" "SELECT * FROM path_to_root(clr_address('$address'));"
