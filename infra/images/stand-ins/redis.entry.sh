#!/bin/sh
# Starts like the official image: as `redis`, open to the container's network.
set -eu
if [ "$(id -u)" = 0 ]; then
  chown redis .
  exec setpriv --reuid=redis --regid=redis --init-groups "$0" "$@"
fi
exec "$@" --protected-mode no
