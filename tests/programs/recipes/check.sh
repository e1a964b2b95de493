#!/bin/sh
# Runs the cookbook's recipes on a dump of recipes.cs, and compares with what the program did.
#
#   check.sh RUNNER MODULE SOURCE DUMP RECORDS [BEFORE]     prints each failure under its section's name; the last line is
#                                                           'N passed, N failed'
#
# SOURCE has docs/cookbook.md. A record names a recipe as ${NAME}: recipes.list says which question that is. What a recipe
# says of the cookbook's own dump (namespace Zoo) is said of this program (namespace Recipes). BEFORE is a dump of a
# smaller size, for recipes of two dumps.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
runner=$1 module=$2 page=$3/docs/cookbook.md dump=$4 records=$5 before=${6:-$4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -v work="$work" -v list="$here/recipes.list" '
    BEGIN { FS = "\t"; while ((getline < list) > 0) if ($0 !~ /^#/) { name[++n] = $1; begins[n] = $2 } }
    /^```sql/ && !inside {
        file = ""
        for (i = 1; i <= n; i++) if (index(question, begins[i]) == 1) { file = work "/" name[i]; found[i] = 1 }
        inside = 1; next }
    /^```/ { inside = !inside; file = ""; next }
    inside { sub(/ *--.*/, ""); sub(/;$/, ""); if (file != "") print > file; next }
    /^$/ { ended = 1; next }
    { question = ended ? $0 : question " " $0; ended = 0 }
    END { for (i = 1; i <= n; i++) if (!found[i]) { print "no recipe begins with: " begins[i]; bad = 1 } exit bad }' "$page" >&2

set --
for file in "$work"/*; do
    name=${file##*/}
    sql=$(sed "s/Zoo\./Recipes./g; s/'Zoo'/'Recipes'/g" "$file")
    set -- "$@" "$name=$sql"
done
sh "$here/../truth/check.sh" "$runner" "$module" "$dump" "$records" BEFORE="$before" "$@"
