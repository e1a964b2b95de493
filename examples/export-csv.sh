#!/bin/sh
# Writes the tables that people take elsewhere as CSV files:   export-csv.sh CORE [FOLDER]
# A string that begins with =, +, - or @ may be taken for a formula by a spreadsheet.
set -eu
core=${1:?usage: export-csv.sh CORE [FOLDER]} folder=${2:-.}
clrdb=${CLRDB:-clrdb}

# write FILE COLUMNS REST: SELECT COLUMNS REST. sqlite3 prints the names of the columns with the first row, so that a
# table without rows needs them written.
write() {
    "$clrdb" -q -csv "$core" "SELECT $2 $3" > "$folder/$1.csv"
    [ -s "$folder/$1.csv" ] || echo "$2" | sed 's/clr_hex([a-z]*) AS //g; s/, /,/g' > "$folder/$1.csv"
    echo "$folder/$1.csv"
}
mkdir -p "$folder"
write types "name, object_count, total_size" "FROM type_stats ORDER BY total_size DESC"
write segments "heap, kind, generation, clr_hex(start) AS start, object_count, object_bytes, free_bytes" "FROM segments"
write objects "clr_hex(address) AS address, type_name, size, generation, length" "FROM objects WHERE NOT is_free"
write strings "clr_hex(object) AS object, length, value" "FROM strings"
write problems "severity, area, clr_hex(address) AS address, length, count, message" "FROM problems"
