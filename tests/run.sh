#!/bin/sh
# Passes every test: installs what is missing (Debian 12, Ubuntu), checks the format, builds with
# warnings as errors and with the address and undefined-behaviour sanitizers, and runs the whole suite on
# both: units, golden SQL in the system's SQLite and in a newer one, the documents, the corpora of the
# fuzz targets. What cannot be had here (a newer SQLite and the Node example need npm) is left out with a
# line that says so; the Node example is tested in CI, or where better-sqlite3 was got before.
#
#   tests/run.sh [PRESET...]       default: dev asan
set -eu
cd "$(dirname "$0")/.."
tests/install_deps.sh check clang-format-14
NEWER_SQLITE=$(tests/newer_sqlite.sh build/newer-sqlite)
export NEWER_SQLITE
if [ "${CI:-}" = true ] || [ -d build/node/node_modules/better-sqlite3 ]; then
    environment=$(tests/node_env.sh build/node)
    eval "$environment"
else
    echo "Node example: left out, tests/node_env.sh build/node gets what it needs (some minutes)"
fi
export CMAKE_GENERATOR=Ninja # of a build folder that is new
[ $# -gt 0 ] || set -- dev asan
for preset in "$@"; do
    cmake --preset "$preset" -DCLRDB_TESTS=ON
    cmake --build --preset "$preset"
    # clang-tidy takes minutes: tests/lint.sh build/dev, by hand.
    [ "$preset" != dev ] || clang-format-14 --dry-run -Werror $(git ls-files '*.c' '*.h')
    ctest --preset "$preset" -j "$(nproc)"
done
