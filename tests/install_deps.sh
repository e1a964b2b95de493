#!/bin/sh
# Installs what building and testing needs on Debian 12 or Ubuntu, if something is missing.
#
#   install_deps.sh [PACKAGE...]      packages beside those of the build
set -eu
packages="gcc libc6-dev cmake ninja-build pkg-config libsqlite3-dev libelf-dev libjansson-dev
    libzstd-dev zlib1g-dev sqlite3 zstd $*"
missing=
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' ||
        missing="$missing $package"
done
[ -z "$missing" ] && exit 0

command -v apt-get > /dev/null || {
    echo "missing:$missing" >&2
    echo "this is not Debian or Ubuntu: install what corresponds to these packages" >&2
    exit 1
}
as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
echo "installing:$missing"
$as_root apt-get update -q
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -q -y --no-install-recommends $missing
