#!/bin/sh
# The golden files, the driver and the properties of all tables under the SQLite in $NEWER_SQLITE: some
# of what a virtual table must do right only newer ones ask for. Without it the status is 77.
#
#   newer_test.sh BUILD MODULE [NAME=VALUE]... FILE.slt...
set -eu
[ -n "${NEWER_SQLITE:-}" ] || { echo "no newer SQLite (\$NEWER_SQLITE: its folder; tests/newer_sqlite.sh makes it)"; exit 77; }
build=$1 module=$2
shift 2
variables=
while case $1 in *=*) true ;; *) false ;; esac do
    variables="$variables $1"
    shift
done
export LD_LIBRARY_PATH="$NEWER_SQLITE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
passed=0
failed=0
check() { # NAME COMMAND...
    name=$1
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$name:"
        echo "$output"
    fi
}
for file in "$@"; do
    # shellcheck disable=SC2086
    check "$(basename "$file")" "$build/runner" --module "$module" $variables "$file"
done
for test in test_driver test_session test_tables; do
    check "$test" "$build/$test"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
