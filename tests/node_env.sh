#!/bin/sh
# Gets Node 20 or later and better-sqlite3 into a folder, for the example that uses them, and prints the
# lines that a shell evaluates to find them.
#
#   eval "$(tests/node_env.sh build/node)"
#
# Needs npm. better-sqlite3 comes built, or is built here against the headers of the very node that runs
# it, with make, a C++ compiler and Python. Where that does not work one line says why, and the example
# is left out.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
log=$folder/log
leave() {
    echo "Node example: left out, $1" >&2
    exit 0
}
major() { "$1" --version 2> /dev/null | sed 's/^v\([0-9]*\)\..*/\1/'; }
works() {
    PATH=$(dirname "$node"):$PATH node -e 'new (require(process.argv[1]))(":memory:")' "$1" 2> /dev/null
}
get() { # PACKAGE
    PATH=$(dirname "$node"):$PATH npm install --no-audit --no-fund --prefix "$folder" "$1" > "$log" 2>&1 ||
        leave "npm does not install $1 (build/node/log has its words)"
}

command -v npm > /dev/null || leave "there is no npm"
node=$(command -v node || true)
if [ -z "$node" ] || [ "$(major "$node")" -lt 20 ]; then
    node=$folder/node_modules/.bin/node
    [ -x "$node" ] || get node@22
fi
sqlite=$folder/node_modules/better-sqlite3
if ! works "$sqlite"; then
    headers=$(find "$folder/node_modules/node" -type d -path '*/include/node' 2> /dev/null | head -n 1)
    [ -z "$headers" ] || export npm_config_nodedir="${headers%/include/node}"
    get better-sqlite3@12
    works "$sqlite" || leave "better-sqlite3 was installed and does not load"
fi
echo "export PATH='$(dirname "$node")':\"\$PATH\""
echo "export BETTER_SQLITE3='$sqlite'"
