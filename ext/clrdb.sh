#!/bin/sh
# clrdb: opens a .NET core dump in the sqlite3 shell.
#
#   clrdb CORE                 prompt of sqlite3; the dump's tables are attached as 'dump'
#   clrdb CORE "SELECT ..."    prints the rows and ends
#   clrdb CORE < file.sql      runs a file of SQL and of sqlite3's dot commands
#
#   -o JSON                    options for clr_attach: '{"modules": "/app"}'
#   -q                         no line about the dump on standard error
#   -version, -help
#
# Other options before CORE go to sqlite3: -csv (with -header), -json, -box, -separator X, -cmd X ...
# Rows alone are on standard output: what clr_attach says of the dump is on standard error, unless there
# is a prompt. The status is 0 only if the dump was opened and every statement ran.
#
# The module is looked for in $CLRDB_MODULE, in the library folders beside this script, in the build folder
# of a checkout, then by the dynamic linker. $CLRDB_SQLITE names another sqlite3.
set -eu

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
}
misused() {
    [ $# -eq 0 ] || echo "clrdb: $1" >&2
    usage >&2
    exit 2
}
# Text as SQL and as the shell quote it.
quote() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"
}
word() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

sqlite=${CLRDB_SQLITE:-sqlite3}
options='{}'
flags= # of sqlite3, as words of the shell
quiet=0
version=0
while [ $# -gt 0 ]; do
    option=${1#-}
    case $1 in
    -h | -help | --help) usage && exit 0 ;;
    -version | --version) version=1 ;;
    -q) quiet=1 ;;
    -o)
        [ $# -ge 2 ] || misused "-o needs options as JSON"
        options=$2
        shift
        ;;
    -csv | --csv) flags="$flags -csv -header" ;;
    -*)
        flags="$flags $(word "$1")"
        case ${option#-} in # with values
        cmd | separator | newline | nullvalue | maxsize | mmap | heap | vfs | init) values=1 ;;
        lookaside | pagecache) values=2 ;;
        *) values=0 ;;
        esac
        [ $# -gt $values ] || misused "$1 needs a value"
        while [ $values -gt 0 ]; do
            shift
            flags="$flags $(word "$1")"
            values=$((values - 1))
        done
        ;;
    *) break ;;
    esac
    shift
done

command -v "$sqlite" > /dev/null || {
    echo "clrdb: $sqlite is not installed (Debian: apt install sqlite3)" >&2
    exit 1
}
module=${CLRDB_MODULE:-}
if [ -z "$module" ]; then
    module=clrdb
    here=$(dirname "$(readlink -f "$0")")
    for file in "$here"/../lib/clrdb.so "$here"/../lib/*/clrdb.so "$here"/../lib64/clrdb.so \
        "$here"/../build/release/clrdb.so; do
        [ -f "$file" ] && module=$file && break
    done
fi
if [ $version -eq 1 ]; then
    exec "$sqlite" -batch -bail -init /dev/null -cmd ".load \"$module\"" :memory: \
        "SELECT 'clrdb ' || clr_version() || ', SQLite ' || sqlite_version()"
fi
[ $# -ge 1 ] || misused "no core dump is named"
[ $# -le 2 ] || misused "'$3' is one argument too many; quote a query"
core=$1

# The commands of sqlite3 come before the flags, so that the line about the dump is in no format.
attach="SELECT clr_attach($(quote "$core"), 'dump', $(quote "$options"))"
if [ $# -eq 2 ] || [ ! -t 0 ]; then
    line='.output "|cat >&2"'
    [ $quiet -eq 0 ] || line='.output /dev/null'
    query=
    [ $# -eq 1 ] || query=$(word "$2")
    eval "set -- $flags :memory: $query"
    exec "$sqlite" -batch -bail -init /dev/null -cmd ".load \"$module\"" -cmd "$line" -cmd "$attach" \
        -cmd '.output stdout' "$@"
fi
eval "set -- $flags :memory:"
exec "$sqlite" -bail -cmd ".load \"$module\"" -cmd "$attach" "$@"
