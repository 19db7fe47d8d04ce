#!/bin/sh
# Starts like the official image: creates the cluster, its user and its database once, then runs the server as `postgres`.
set -eu
if [ "$(id -u)" = 0 ]; then
  chown postgres:postgres "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust > /dev/null
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl start --wait --silent -o '-c listen_addresses=' > /dev/null
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl stop --mode=fast --silent
fi
exec "$@" -c listen_addresses='*'
