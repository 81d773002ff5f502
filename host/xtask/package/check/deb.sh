#!/bin/sh
# In a system of its own: installs, uses, upgrades and removes the package. $1: the folder of the parcels, $2: of this script.
set -eu
cd "$1"
deb="$(echo leafgate_*_"$(dpkg --print-architecture)".deb)"
ann() { setpriv --reuid=1000 --regid=1000 --clear-groups env -i HOME=/home/ann PATH=/usr/bin:/bin "$@"; }
mkdir -p /home/ann && chown 1000:1000 /home/ann

dpkg --install "$deb"
id leafgate
systemd-analyze verify --man=no leafgate.service
XDG_RUNTIME_DIR=/run systemd-analyze verify --man=no --user leafgate.service
ann leafgate --version
ann leafgate service status | grep "systemctl --user enable --now leafgate.service"

echo "== the service of the system, which tells when it serves"
systemctl start leafgate
! systemctl is-active --quiet leafgate || { echo "it runs without settings" && exit 1; }
mkdir -p /etc/leafgate
echo 'upstream = "echo:"' >/etc/leafgate/service.toml
systemctl enable --now leafgate
systemctl is-active leafgate
systemctl stop leafgate

echo "== a client"
ann python3 "$2/exchange.py" leafgate

echo "== an upgrade while requests flow"
ann mkfifo /home/ann/begun
ann python3 "$2/exchange.py" --until /home/ann/done leafgate >/home/ann/begun &
asks=$!
{
    read -r line && [ "$line" = begun ]
    dpkg --install "$deb"
    ann touch /home/ann/done
    cat
} </home/ann/begun
wait "$asks"
ann python3 "$2/exchange.py" leafgate

echo "== removal"
ann leafgate stop
systemctl start leafgate
files="$(dpkg --listfiles leafgate)"
said="$(dpkg --remove leafgate)"
printf '%s\n' "$said" | grep .local/share/leafgate
[ -e /home/ann/.local/share/leafgate/key ] && [ -e /var/lib/leafgate/key ]
! systemctl is-active --quiet leafgate || { echo "the service goes on" && exit 1; }
for file in $files; do
    [ -d "$file" ] || ! [ -e "$file" ] || { echo "$file is left" && exit 1; }
done
