#!/bin/sh
# Gets Node 20 or later and better-sqlite3, whose SQLite is newer than Debian's, into a folder. Prints
# the lines that a shell evaluates to use them.
#
#   eval "$(tests/node_env.sh build/node)"
#
# What is on the system is used if it will do. better-sqlite3 comes built, or is built here against the
# headers of the very node that runs it.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
tests=$(cd "$(dirname "$0")" && pwd)
major() { "$1" --version 2> /dev/null | sed 's/^v\([0-9]*\)\..*/\1/'; }

node=$(command -v node || true)
[ -n "$node" ] && [ "$(major "$node")" -ge 20 ] || node=$folder/node_modules/.bin/node
if [ ! -x "$node" ]; then
    "$tests/install_deps.sh" npm >&2
    npm install --silent --no-audit --no-fund --prefix "$folder" node@22 >&2
fi
works() {
    PATH=$(dirname "$node"):$PATH node -e 'new (require(process.argv[1]))(":memory:")' "$1" 2> /dev/null
}
sqlite=$folder/node_modules/better-sqlite3
if ! works "$sqlite"; then
    command -v npm > /dev/null || "$tests/install_deps.sh" npm >&2
    "$tests/install_deps.sh" g++ make python3 >&2
    headers=$(find "$folder/node_modules/node" -type d -path '*/include/node' 2> /dev/null | head -n 1)
    [ -z "$headers" ] || export npm_config_nodedir="${headers%/include/node}"
    PATH=$(dirname "$node"):$PATH npm install --silent --no-audit --no-fund --prefix "$folder" better-sqlite3@12 >&2
    works "$sqlite"
fi
echo "export PATH='$(dirname "$node")':\"\$PATH\""
echo "export BETTER_SQLITE3='$sqlite'"
