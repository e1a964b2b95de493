#!/bin/bash
# Holds every dump of a folder against what ClrMD says of it, and prints a table in Markdown.
#
#   compare_all.sh COMPARE DUMPS MODULE [IMAGES]
#
# COMPARE  the program that compares one dump: COMPARE CORE ORACLE MODULE [--only a,b] [--options JSON] prints
#          'SUBJECT ours N theirs N missing N extra N' per subject and ends in 'N passed, M failed'
# DUMPS    a folder with NAME.core (or NAME.core.createdump) and NAME.oracle/, the files that the oracle wrote
# MODULE   clrdb.so
# IMAGES   a folder in which the runtimes' files lie, at any depth: option 'modules' for the subjects that read
#          code; without it these are left out
#
# A row of the table is a dump; one line of detail for each subject that differs goes to standard error.
# The variable SUBJECTS narrows what is compared. Ends with 1 if anything differed.
# Part of no test run: dumps and oracles are large and are not in the repository.
set -u
[ $# -ge 3 ] || { sed -n '2,16p' "$0"; exit 2; }
compare=$1 dumps=$2 module=$3 images=${4:-}
subjects=${SUBJECTS:-objects,generations,segments,strings,string_values,type_names,types,modules,threads,refs,ref_fields,handles,finalizer_queue,roots,fields,statics}
with_images=native_code,debug_bounds

about() {
    sqlite3 -batch :memory: ".load $module" ".output /dev/null" "SELECT clr_attach('$1','dump')" \
        ".output stdout" "SELECT runtime_version || '|' || ifnull(gc_mode || ', ' || gc_layout, '?') ||
            ifnull((SELECT ', ' || clr_file FROM (SELECT substr(path, instr(path, 'libclrgc')) AS clr_file
                FROM images WHERE path LIKE '%/libclrgc%' LIMIT 1)), '') FROM dump_info"
}

bad=0
echo "| dump | runtime | GC | subjects equal | differ |"
echo "|---|---|---|---|---|"
for oracle in "$dumps"/*.oracle; do
    name=$(basename "$oracle" .oracle)
    core=$dumps/$name.core
    [ -f "$core" ] || core=$dumps/$name.core.createdump
    [ -f "$core" ] || continue
    said=$(nice "$compare" "$core" "$oracle" "$module" --only "$subjects")
    if [ -n "$images" ]; then
        said+=$'\n'$(nice "$compare" "$core" "$oracle" "$module" --only "$with_images" \
            --options "{\"modules\":[\"$images\"]}")
    fi
    # A subject of which the oracle wrote nothing is not compared.
    lines=$(grep -E ' ours [0-9]+ theirs | absent: ' <<< "$said" | grep -v 'No such file')
    count=$(grep -c . <<< "$lines")
    equal=$(grep -cE 'theirs [1-9][0-9]* missing 0 extra 0$' <<< "$lines")
    differ=$(grep -vE 'theirs [0-9]+ missing 0 extra 0$' <<< "$lines" |
        sed -E 's/ ours .* missing ([0-9]+) extra ([0-9]+)$/ −\1 +\2/; s/ absent: .*/ absent/' | paste -sd, | sed 's/,/, /g')
    IFS='|' read -r version gc < <(about "$core" 2> /dev/null)
    echo "| $name | ${version:-?} | ${gc:-?} | $equal of $count | $differ |"
    if [ -n "$differ" ]; then
        bad=1
        { echo "$name"; grep -vE 'missing 0 extra 0$|passed, |No such file' <<< "$said" | grep -v '^$'; } >&2
    fi
done
exit $bad
