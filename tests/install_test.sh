#!/bin/sh
# Installs into a folder and uses what lies there: the module by name, the command, the documents.
#
#   install_test.sh BUILD DUMP
set -eu
build=$1 dump=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A target root: nothing outside of it is touched.
LD_PRELOAD= DESTDIR=$work cmake --install "$build" --prefix /usr > "$work/log"

failed=0
fail() {
    echo "install: $1"
    failed=1
}
module=$(find "$work/usr" -name clrdb.so)
[ -n "$module" ] || fail "no clrdb.so"
for file in bin/clrdb share/man/man7/clrdb.7 share/clrdb/sql/heap.sql share/doc/clrdb/README.md \
    share/doc/clrdb/schema.md share/doc/clrdb/cookbook.md share/doc/clrdb/examples/leak.sql; do
    [ -f "$work/usr/$file" ] || fail "no $file"
done
folder=$(dirname "$module")
printf '.bail on\n.load clrdb\nSELECT clr_version();\n' > "$work/load.sql"
LD_LIBRARY_PATH=$folder sqlite3 -batch -init /dev/null :memory: < "$work/load.sql" > "$work/out" ||
    fail ".load clrdb does not find it"
grep -q '^[0-9]' "$work/out" || fail "clr_version() says nothing"
[ "$(env -u CLRDB_MODULE "$work/usr/bin/clrdb" "$dump" 'SELECT count(*) FROM objects')" = 6397 ] ||
    fail "the command does not answer"
[ $failed -eq 0 ] && echo "1 passed, 0 failed"
exit $failed
