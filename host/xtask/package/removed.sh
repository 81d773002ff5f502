#!/bin/sh
# Says what stays. The first argument of an upgrade is a word of dpkg's, rpm's count, or nothing.
case "$1" in
    remove | 0 | "" | *.*)
        echo "leafgate is removed. What is a user's stays: ~/.local/share/leafgate (key, log, saved edits),"
        echo "~/.config/leafgate (settings, policy), ~/.cache/leafgate; and /var/lib/leafgate, the system service's."
        ;;
esac
