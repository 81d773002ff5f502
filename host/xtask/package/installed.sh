#!/bin/sh
# Makes the account of the system's gate. Nothing is started: a gate that runs goes on as it is until it is started anew.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers leafgate.conf
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
