#!/bin/sh
# Says what stays. The first argument is a word of dpkg's, rpm's count of versions that are left, or the version that was removed.
set -e
case "$1" in
    remove | 0 | *.*)
        echo "leafgate is removed. What is a user's stays, below each home: .local/share/leafgate (key, log, saved"
        echo "edits), .config/leafgate (settings, policy), .cache/leafgate; and of the system service /var/lib/leafgate."
        ;;
esac
