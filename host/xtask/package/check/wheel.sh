#!/bin/sh
# Installs the wheel with pip, without a network. $1: the folder of the parcels, $2: of this script.
set -eu
home="$(mktemp -d)"
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/venv"
"$home/venv/bin/pip" install --quiet --no-index --find-links "$1" leafgate
env -i HOME="$home" PATH=/usr/bin:/bin python3 "$2/exchange.py" "$home/venv/bin/leafgate"
env -i HOME="$home" PATH=/usr/bin:/bin "$home/venv/bin/leafgate" stop
"$home/venv/bin/pip" uninstall --quiet --yes leafgate
[ ! -e "$home/venv/bin/leafgate" ] && [ -e "$home/.local/share/leafgate/key" ]
