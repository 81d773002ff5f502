#!/bin/sh
# Ends the system's gate. The first argument is a word of dpkg's, rpm's count of versions that are left, or the version that goes.
set -e
case "$1" in
    remove | 0 | *.*)
        if [ -d /run/systemd/system ]; then
            systemctl disable --quiet --now leafgate.service
        fi
        ;;
esac
