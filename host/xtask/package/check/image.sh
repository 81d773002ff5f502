#!/bin/sh
# Runs the image as its own user, asks it, and calls its health check. $1: the folder of the parcels.
set -eu
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
case "$(uname -m)" in x86_64) arch=amd64 ;; *) arch=arm64 ;; esac
container="$(buildah from "docker-archive:$(echo "$1"/leafgate-*-image-"$arch".tar)")"
home="$(mktemp -d)"
gate=
trap '[ -z "$gate" ] || kill "$gate" || true; rm -rf "$home"; buildah rm "$container" >/dev/null' EXIT
inside() { buildah run "$container" -- /usr/bin/leafgate "$@"; }

user="$(buildah inspect --format '{{.Docker.Config.User}}' "$container")"
[ "$user" = 65532:65532 ] || { echo "the image runs as $user" && exit 1; }
check="$(buildah inspect --format '{{.Docker.Config.Healthcheck.Test}}' "$container")"
[ "$check" = "[CMD /usr/bin/leafgate status]" ] || { echo "its health check is $check" && exit 1; }
! inside status || { echo "it is healthy without a gate" && exit 1; }

mkfifo "$home/said"
# Not by the function, whose process is a shell's, and its end not the gate's.
buildah run "$container" -- /usr/bin/leafgate run --listen 127.0.0.1:0 --upstream echo: >"$home/said" 2>"$home/errors" &
gate=$!
read -r url <"$home/said"
curl --silent --fail --output /dev/null --header 'content-type: application/json' \
    --data '{"model":"m","messages":[{"role":"user","content":"hello"}]}' "$url/v1/chat/completions"
inside status
