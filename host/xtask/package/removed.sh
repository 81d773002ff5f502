#!/bin/sh
# Says what stays. The first argument is as in removing.sh.
set -e
case "$1" in
    remove | 0 | *.*)
        if [ -d /run/systemd/system ]; then
            systemctl daemon-reload
        fi
        echo "leafgate is removed. What is a user's stays, below each home: .local/share/leafgate (key, log, saved"
        echo "edits), .config/leafgate (settings, policy), .cache/leafgate; and of the system service /var/lib/leafgate."
        ;;
esac
