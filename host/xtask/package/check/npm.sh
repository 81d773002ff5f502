#!/bin/sh
# Installs wrapper and program with npm, without a network, and the wrapper alone. $1: the folder of the parcels, $2: of this script.
set -eu
home="$(mktemp -d)"
trap 'rm -rf "$home"' EXIT
user() { env -i HOME="$home" PATH="$PATH" npm_config_offline=true npm_config_audit=false npm_config_fund=false "$@"; }
version="$(basename "$1"/leafgate-[0-9]*.tgz .tgz)"
version="${version#leafgate-}"
arch="$(node -p process.arch)"
program="$1/leafgate-linux-$arch-$version.tgz"
mkdir "$home/with" "$home/without"
cd "$home/without"
user npm install --silent --omit=optional "$1/leafgate-$version.tgz"
if user node_modules/.bin/leafgate --version 2>said; then exit 1; fi
grep -q "the package leafgate-linux-$arch is missing" said
cd "$home/with"
user npm install --silent "$program" "$1/leafgate-$version.tgz"
user python3 "$2/exchange.py" node_modules/.bin/leafgate
user node_modules/.bin/leafgate stop
# An exit code is passed on.
code=0
user node_modules/.bin/leafgate nonsense 2>/dev/null || code=$?
[ $code = 2 ]
