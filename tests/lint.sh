#!/bin/sh
# What a compiler does not see: the format of all sources, as .clang-format says, and what clang-tidy
# finds in the product, as .clang-tidy says. Half a minute on two processors.
#
#   tests/lint.sh BUILD [FILE...]
#
# BUILD is a build folder with compile_commands.json (the preset dev makes it) in which the product was
# built. FILEs narrow it down. Version 14 of both tools: others lay out and find other things.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- $(git ls-files '*.c' '*.h')
failed=0
clang-format-14 --dry-run -Werror "$@" || failed=1
product=$(printf '%s\n' "$@" | grep -E '^(reader|ext)/.*\.c$' || true)
[ -z "$product" ] || echo "$product" | xargs -P "$(nproc)" -n 4 clang-tidy-14 --quiet -p "$build" 2> /dev/null ||
    failed=1
[ $failed -eq 0 ] || echo "lint: see above; clang-format-14 -i FILE lays a file out"
exit $failed
