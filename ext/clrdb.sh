#!/bin/sh
# clrdb: opens a .NET core dump in the sqlite3 shell.
#
#   clrdb CORE                 prompt of sqlite3; the dump's tables are attached as 'dump'
#   clrdb CORE "SELECT ..."    prints the rows and ends
#   clrdb CORE < file.sql      runs a file of SQL and of sqlite3's dot commands
#   clrdb -o JSON ...          options for clr_attach
#
# Options before CORE that begin with '-' and are not -o go to sqlite3: -csv, -json, -box, -header ...
# The module is looked for in $CLRDB_MODULE, in the library folders beside this script, then by the
# dynamic linker. $CLRDB_SQLITE names another sqlite3.
set -eu

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
quote() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"
}

sqlite=${CLRDB_SQLITE:-sqlite3}
options=
flags=
while [ $# -gt 0 ]; do
    case $1 in
    -h | -help | --help) usage ;;
    -o)
        [ $# -ge 2 ] || usage
        options=$2
        shift 2
        ;;
    -csv) flags="$flags -csv -header" && shift ;;
    -*) flags="$flags $1" && shift ;;
    *) break ;;
    esac
done
[ $# -eq 1 ] || [ $# -eq 2 ] || usage
core=$1

command -v "$sqlite" > /dev/null || {
    echo "clrdb: $sqlite is not installed (Debian: apt install sqlite3)" >&2
    exit 1
}
module=${CLRDB_MODULE:-}
if [ -z "$module" ]; then
    module=clrdb
    here=$(dirname "$(readlink -f "$0")")
    for file in "$here"/../lib/clrdb.so "$here"/../lib/*/clrdb.so "$here"/../lib64/clrdb.so; do
        [ -f "$file" ] && module=$file && break
    done
fi

attach="SELECT clr_attach($(quote "$core"), 'dump', $(quote "${options:-{\}}"))"
if [ $# -eq 2 ] || [ ! -t 0 ]; then
    # The summary that clr_attach returns is not one of the rows that were asked for.
    set -- -batch -bail -init /dev/null $flags -cmd ".load \"$module\"" -cmd ".output /dev/null" \
        -cmd "$attach" -cmd ".output stdout" :memory: ${2+"$2"}
    exec "$sqlite" "$@"
fi
exec "$sqlite" -cmd ".load \"$module\"" $flags -cmd "$attach" :memory:
