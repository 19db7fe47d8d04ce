#!/bin/sh
# As the official image starts: its data belong to `rabbitmq`, who runs the server; a health check is not changed to that user.
set -eu
if [ "$(id -u)" = 0 ]; then
  find /var/lib/rabbitmq ! -user rabbitmq -exec chown rabbitmq '{}' +
  exec setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups "$0" "$@"
fi
exec "$@"
