#!/bin/sh
# From a checkout to an answer: installs what is missing (Debian 12, Ubuntu), builds the module, opens
# the dump in tests/dumps and prints what takes its heap.
#
#   examples/quickstart.sh [CORE]     CORE: a dump of your own
set -eu
core=
[ $# -eq 0 ] || core=$(readlink -f "$1")
cd "$(dirname "$0")/.."

# quietly WHAT COMMAND...: what it prints is only shown if it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
    printf '%s ... ' "$1"
    shift
    if "$@" > "$log" 2>&1; then
        echo done
    else
        echo failed
        cat "$log" >&2
        exit 1
    fi
}
quietly "installing what is missing" tests/install_deps.sh
export CMAKE_GENERATOR=Ninja # if the build folder is new
quietly "configuring" cmake --preset release -DCLRDB_TESTS=OFF
quietly "building" cmake --build --preset release

if [ -z "$core" ]; then
    core=$PWD/build/release/ws11.core
    [ -f "$core" ] || zstd -q -d tests/dumps/ws11.core.zst -o "$core"
fi
ext/clrdb.sh -box "$core" "
    SELECT runtime_version, gc_mode, object_count, object_bytes, complete FROM dump_info;
    SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT 10"
echo
echo "Go on with:  $PWD/ext/clrdb.sh $core"
