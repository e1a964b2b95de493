#!/bin/sh
# Writes the tables that people take elsewhere as CSV files:   export-csv.sh CORE [FOLDER]
# A string that begins with =, +, - or @ may be taken for a formula by a spreadsheet.
set -eu
core=${1:?usage: export-csv.sh CORE [FOLDER]} folder=${2:-.}
clrdb=${CLRDB:-clrdb}

write() {
    "$clrdb" -csv "$core" "$2" > "$folder/$1.csv"
    echo "$folder/$1.csv"
}
mkdir -p "$folder"
write types "SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC"
write segments "SELECT heap, kind, generation, clr_hex(start) AS start, object_count, object_bytes, free_bytes FROM segments"
write objects "SELECT clr_hex(address) AS address, type_name, size, generation, length FROM objects WHERE NOT is_free"
write strings "SELECT clr_hex(object) AS object, length, value FROM strings"
write problems "SELECT severity, area, clr_hex(address) AS address, length, count, message FROM problems"
