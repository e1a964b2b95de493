#!/bin/sh
# Makes libsqlite3.so.0 of a release newer than the system's, in a folder, and prints the folder. Its
# source comes in one npm package, better-sqlite3, of which nothing is run; a compiler is all it needs.
# Prints nothing, and says in one line why, if it cannot be had: the tests that want it are left out.
#
#   newer_sqlite.sh FOLDER
set -eu
package=better-sqlite3@12
mkdir -p "$1"
folder=$(cd "$1" && pwd)
leave() {
    echo "newer SQLite: left out, $1" >&2
    exit 0
}

if [ ! -f "$folder/libsqlite3.so.0" ]; then
    command -v npm > /dev/null || leave "no npm, which would get its source ($package)"
    (cd "$folder" && rm -f ./*.tgz && npm pack --silent "$package" > log 2>&1) ||
        leave "npm does not get $package: $(tail -n 1 "$folder/log")"
    tar -xzf "$folder"/*.tgz -C "$folder" package/deps/sqlite3 > "$folder/log" 2>&1 ||
        leave "$package has no source of SQLite in deps/sqlite3"
    echo "compiling SQLite $(sed -n 's/^#define SQLITE_VERSION *"\(.*\)"/\1/p' "$folder/package/deps/sqlite3/sqlite3.h")" >&2
    cc -O1 -shared -fPIC -w -Wl,-soname,libsqlite3.so.0 -o "$folder/libsqlite3.so.new" \
        "$folder/package/deps/sqlite3/sqlite3.c" -lpthread -ldl -lm > "$folder/log" 2>&1 ||
        leave "it does not compile: $(tail -n 1 "$folder/log")"
    mv "$folder/libsqlite3.so.new" "$folder/libsqlite3.so.0"
fi
echo "$folder"
