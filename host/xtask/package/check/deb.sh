#!/bin/sh
# In a system of its own: installs, uses, upgrades and removes the package. $1: the folder of the parcels.
set -eu
cd "$1"
ann() { setpriv --reuid=1000 --regid=1000 --clear-groups env -i HOME=/home/ann PATH=/usr/bin:/bin "$@"; }
mkdir -p /home/ann && chown 1000:1000 /home/ann

dpkg --install leafgate_*_"$(dpkg --print-architecture)".deb
id leafgate
systemd-analyze verify --man=no leafgate.service
XDG_RUNTIME_DIR=/run systemd-analyze verify --man=no --user leafgate.service
ann leafgate --version
ann python3 "$2/exchange.py" leafgate

echo "== an upgrade while requests flow"
ann mkfifo /home/ann/begun
ann python3 "$2/exchange.py" --until /home/ann/done leafgate >/home/ann/begun &
asks=$!
{
    read -r line && [ "$line" = begun ]
    dpkg --install leafgate_*_"$(dpkg --print-architecture)".deb
    ann touch /home/ann/done
    cat
} </home/ann/begun
wait "$asks"
ann python3 "$2/exchange.py" leafgate

echo "== removal"
ann leafgate stop --force
files="$(dpkg --listfiles leafgate)"
dpkg --remove leafgate | tee /tmp/said
grep -q .local/share/leafgate /tmp/said
[ -e /home/ann/.local/share/leafgate/key ]
for file in $files; do
    [ -d "$file" ] || ! [ -e "$file" ] || { echo "$file is left" && exit 1; }
done
