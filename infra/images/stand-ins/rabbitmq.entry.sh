#!/bin/sh
# Starts like the official image: the data belongs to `rabbitmq`, which runs the server; a health check does not switch to that user.
set -eu
if [ "$(id -u)" = 0 ]; then
  find /var/lib/rabbitmq ! -user rabbitmq -exec chown rabbitmq '{}' +
  exec setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups "$0" "$@"
fi
exec "$@"
