#!/bin/sh
# Changes one place of the product after the other, as tests/mutants.list says, and sees whether the
# tests that are named there fail. By hand, or at night: a mutant takes 5 to 30 seconds.
#
#   tests/mutants.sh [-l] [-n] [WHAT...]
#
#   WHAT    a room (base, heap, ext ...), a number, a range (12-30), a part of a file's path; default:
#           all
#   -l      only says whether each mutant fits the tree, and lists them
#   -n      forgets the answers of earlier runs
#
# It works on a copy of the tree in build/mutants (MUTANTS_FOLDER), and keeps each answer there until
# the product, the mutant or its tests change: a run that was stopped goes on where it was.
# Ends with a table, and with 1 if a mutant does not fit, if one is alive that the list does not
# explain, or if more than one in twenty is alive.
set -eu
cd "$(dirname "$0")/.."
only_list=
forget=
while getopts ln option; do
    case $option in
    l) only_list=1 ;;
    n) forget=1 ;;
    *) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
list=tests/mutants.list
folder=${MUTANTS_FOLDER:-build/mutants}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tree=$folder/tree
build=$folder/build
answers=$folder/answers
[ -z "$forget" ] || rm -f "$answers"
touch "$answers"

# --- The list: $folder/mutants/NUMBER/{file,old,new,tests,why} ---

rm -rf "$folder/mutants"
mkdir "$folder/mutants"
awk -v folder="$folder/mutants" '
    function finish() {
        if (file == "") return
        if (!has_old || tests == "") { print "mutants.list: the block before line " NR " lacks a part" > "/dev/stderr"; exit 1 }
        number++
        dir = sprintf("%s/%03d", folder, number)
        system("mkdir " dir)
        printf "%s", file > (dir "/file"); printf "%s", old > (dir "/old"); printf "%s", new > (dir "/new")
        printf "%s", tests > (dir "/tests"); printf "%s", why > (dir "/why")
        close(dir "/file"); close(dir "/old"); close(dir "/new"); close(dir "/tests"); close(dir "/why")
        file = old = new = tests = why = ""; has_old = has_new = 0
    }
    /^#/ { next }
    /^$/ { finish(); next }
    /^- / { old = has_old ? old "\n" substr($0, 3) : substr($0, 3); has_old = 1; next }
    /^\+/ { new = has_new ? new "\n" substr($0, 3) : substr($0, 3); has_new = 1; next }
    /^! / { tests = substr($0, 3); next }
    /^= / { why = why (why == "" ? "" : " ") substr($0, 3); next }
    { if (file != "") { print "mutants.list, line " NR ": " $0 > "/dev/stderr"; exit 1 } file = $0 }
    END { finish() }' "$list"

# Prints FILE with the text of OLD, which must be in it once, replaced by that of NEW; fails if it is not.
replace() { # FILE OLD NEW
    awk -v old="$2" -v new="$3" -v file="$1" '
        function text_of(name, text) {
            getline text < name # an empty file has no record
            return text
        }
        BEGIN {
            RS = "\001" # which no file has: each is one record
            from = text_of(old)
            text = text_of(file)
            at = index(text, from)
            rest = substr(text, at + length(from))
            if (!at || index(rest, from)) exit 1
            printf "%s%s%s", substr(text, 1, at - 1), text_of(new), rest
        }'
}
room_of() { # FILE
    case $1 in
    reader/options*) echo base ;;
    reader/*/*) echo "$1" | cut -d/ -f2 ;;
    ext/tables/*) echo tables ;;
    *) echo "$1" | cut -d/ -f1 ;;
    esac
}
is_wanted() { # NUMBER FILE
    [ -n "$wanted" ] || return 0
    for what in $wanted; do
        case $what in
        *[!0-9-]* | -*) [ "$what" = "$(room_of "$2")" ] && return 0
            case $2 in *"$what"*) return 0 ;; esac ;;
        *-*) [ "$1" -ge "${what%-*}" ] && [ "$1" -le "${what#*-}" ] && return 0 ;;
        *) [ "$1" -eq "$what" ] && return 0 ;;
        esac
    done
    return 1
}
# One line that tells a mutant: its first line that differs.
title() { # FOLDER
    head -n 1 "$1/old" | sed 's/^ *//' | cut -c1-70
}

# --- The tree and its tests ---

wanted=$*
chosen=
unfit=0
for mutant in "$folder"/mutants/*; do
    number=$(basename "$mutant" | sed 's/^0*//')
    file=$(cat "$mutant/file")
    is_wanted "$number" "$file" || continue
    if ! [ -f "$file" ] || ! replace "$file" "$mutant/old" "$mutant/new" > /dev/null; then
        echo "$number $file: does not fit: $(title "$mutant")"
        unfit=$((unfit + 1))
        continue
    fi
    [ -z "$only_list" ] || echo "$number $file: $(title "$mutant")"
    chosen="$chosen $mutant"
done
if [ -n "$only_list" ]; then
    echo "$(echo $chosen | wc -w) fit, $unfit do not"
    [ "$unfit" -eq 0 ]
    exit
fi

mkdir -p "$tree"
git ls-files -co --exclude-standard -z | sort -z > "$folder/names"
(cd "$tree" && find . -type f | sed 's|^\./||' | sort) | while read -r name; do
    [ -f "$name" ] || rm -f "$tree/$name"
done
tar --null -T "$folder/names" --ignore-failed-read -cf - 2> /dev/null | tar -xf - -C "$tree" # keeps times
cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -g' \
    -DCLRDB_TESTS=ON > "$folder/log" || { cat "$folder/log" >&2; exit 1; }
targets_of() { # TESTS
    echo clrdb dumps inputs runner
    for test in $1; do
        case $test in test_* | replay_*) echo "$test" ;; esac
    done
}
build_of() { # TESTS
    # shellcheck disable=SC2046
    cmake --build "$build" --target $(targets_of "$1") > "$folder/log" 2>&1
}
run_tests() { # TESTS
    ctest --test-dir "$build" -R "^($(echo "$1" | tr ' ' '|'))\$" --stop-on-failure --timeout 120 \
        --no-tests=error > "$folder/log" 2>&1
}
all_tests=$(for mutant in $chosen; do cat "$mutant/tests" && echo; done | tr ' ' '\n' | sort -u | tr '\n' ' ')
sum_of() { # PATTERN: a number for the tree's files with such names
    (cd "$tree" && tr '\0' '\n' < "$folder/names" | grep -E "$1" | xargs -d '\n' cksum 2> /dev/null) |
        cksum | cut -d' ' -f1
}
product=$(sum_of '^(reader|ext|sql|cmake|tests/support|tests/dumps)/|CMakeLists.txt|/make_inputs.c')
state=$product-$(sum_of '^tests/.*(\.c|\.slt|\.cmake)$')
if ! grep -qx "sound $state" "$answers"; then
    echo "building, and running the tests without a mutant"
    build_of "$all_tests" || { tail -n 20 "$folder/log" >&2; exit 1; }
    run_tests "${all_tests% }" || { tail -n 30 "$folder/log" >&2; exit 1; }
    echo "sound $state" >> "$answers"
fi

# --- The mutants ---

saved=
restore() {
    [ -z "$saved" ] || cp "$folder/original" "$saved"
    saved=
}
trap 'restore; exit 1' INT TERM
summary=$folder/summary
: > "$summary"
for mutant in $chosen; do
    number=$(basename "$mutant" | sed 's/^0*//')
    file=$(cat "$mutant/file")
    tests=$(cat "$mutant/tests")
    own=
    for test in $tests; do
        for source in "$tree/tests/unit/$test.c" "$tree/tests/sql/${test#sql_}.slt"; do
            [ ! -f "$source" ] || own="$own $source"
        done
    done
    # shellcheck disable=SC2086
    key=$product-$(cat "$mutant/file" "$mutant/old" "$mutant/new" "$mutant/tests" $own | cksum | cut -d' ' -f1)
    answer=$(sed -n "s/^$key //p" "$answers" | tail -n 1)
    if [ -z "$answer" ]; then
        cp "$tree/$file" "$folder/original"
        saved=$tree/$file
        replace "$folder/original" "$mutant/old" "$mutant/new" > "$folder/changed"
        cp "$folder/changed" "$saved"
        if ! build_of "$tests"; then
            answer=unbuilt
        elif run_tests "$tests"; then
            answer=alive
        else
            answer=killed
        fi
        restore
        [ "$answer" = unbuilt ] || echo "$key $answer" >> "$answers"
    fi
    note=
    [ "$answer" != alive ] || [ -z "$(cat "$mutant/why")" ] || note=" ($(cat "$mutant/why"))"
    echo "$number $file: $answer: $(title "$mutant")$note"
    echo "$(room_of "$file") $answer ${note:+explained}" >> "$summary"
done

echo
awk -v unfit="$unfit" '
    { rooms[$1]++; all++; killed[$1] += $2 == "killed"; alive[$1] += $2 == "alive"; left += $2 == "alive"
      bad += $2 == "unbuilt" || ($2 == "alive" && $3 == "") }
    END {
        count = split("base core descriptor runtime heap graph dump inspect ext tables sql", order)
        print "| room | mutants | killed | alive |"; print "|---|---|---|---|"
        for (i = 1; i <= count; i++)
            if (rooms[order[i]])
                printf "| %s | %d | %d | %d |\n", order[i], rooms[order[i]], killed[order[i]], alive[order[i]]
        printf "| all | %d | %d | %d |\n", all, all - left, left
        if (unfit) print "\n" unfit " do not fit"
        if (bad) print "\n" bad " are alive without a reason, or do not build"
        exit unfit || bad || left * 20 > all
    }' "$summary"
