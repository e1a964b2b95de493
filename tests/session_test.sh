#!/bin/sh
# Runs the sessions that README.md shows and compares what is printed.
#
#   session_test.sh MODULE SOURCE DUMP
#
# A session is a block that begins with ```console. In it, '$ ' is a command of the shell, and after
# '$ sqlite3' 'sqlite> ' is a line for sqlite3 (up to .quit), '   ...> ' its continuation; all other
# lines are what is printed, without white space at the end. It runs in a folder that looks like a checkout
# after examples/quickstart.sh: ext/clrdb.sh, and in build/release the module and the shipped dump.
set -eu
module=$1 source=$2 dump=$3 page=$2/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/folder/build/release" "$work/folder/ext"
ln -s "$dump" "$work/folder/build/release/ws11.core"
ln -s "$module" "$work/folder/build/release/clrdb.so"
cp "$source/ext/clrdb.sh" "$work/folder/ext/clrdb.sh"

# expected: what stands in the page, with a mark before what each command prints. script: a shell
# script that prints the same.
awk -v expected="$work/expected" -v script="$work/script" '
    # After .once the output of the next command goes to a file, so its mark comes behind it.
    function mark() { n++; print "@@" n > expected; return "@@" n }
    function line(text) { print text > script; if (late != "" && text ~ /;$/) { print ".print " late > script; late = "" } }
    /^```console/ { inside = 1; next }
    /^```/ { if (shell) print "@@END" > script; inside = shell = 0; next }
    !inside { next }
    /^\$ sqlite3$/ { print "sqlite3 -batch -init /dev/null <<\"@@END\"" > script; shell = 1; next }
    /^\$ / { m = mark(); print "echo " m "\n" substr($0, 3) > script; next }
    /^sqlite> \.quit/ { print "@@END" > script; shell = 0; next }
    /^sqlite> / {
        m = mark()
        if (once) late = m; else print ".print " m > script
        once = $2 == ".once"
        line(substr($0, 9))
        next
    }
    /^   \.\.\.> / { line(substr($0, 9)); next }
    { print > expected }' "$page"

[ -s "$work/script" ] || { echo "$page: no session"; exit 1; }
cd "$work/folder"
env -u CLRDB_MODULE sh "$work/script" > "$work/got" 2>&1 || true
# Columns are padded, and CSV lines end in CR LF: neither shows in a page. An image file of this
# machine that differs from the mapped one is a problem of the dump, but not on every machine.
sed -e 's/[ \r]*$//' -e '/^dump: /s/, [0-9]* problems\{0,1\}$//' "$work/got" > "$work/shown"
if diff -u "$work/expected" "$work/shown"; then
    echo "$(grep -c '^@@' "$work/expected") passed, 0 failed"
else
    echo "0 passed, 1 failed"
    exit 1
fi
