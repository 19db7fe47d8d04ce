#!/bin/bash
# Builds the images on stand-ins (make.sh), runs all of docker-compose.yml and checks what the documentation says about it. Stops at the
# first failure.   prove.sh [build|run]   does both by default; `run` needs no network.
# Uses the ports 4400, 4500 and 5672 of this machine, and removes the project gatepost-proof with its volumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
. infra/images/stand-ins/names.sh
export COMPOSE_PROJECT_NAME=gatepost-proof COMPOSE_FILE=docker-compose.yml:infra/images/stand-ins/compose.yml
compose() { docker compose --progress quiet "$@"; }
holds() { printf '  ✓ %s\n' "$*"; }
fails() { printf '  ✗ %s\n' "$*"; exit 1; }
services='auth webhook-api dispatcher'
of() { compose ps --quiet "$1" | wc -l; }
inside() { docker run --rm --user root --network none --entrypoint "$2" "gatepost/$1" "${@:3}"; }

if [ "${1:-build}" = build ]; then
  docker compose --profile smoke build --quiet
  holds 'all images build'
fi
[ "${1:-run}" = run ] || exit 0

for name in $services smoke; do
  size=$(docker image inspect --format '{{.Size}}' "gatepost/$name")
  [ "$size" -lt 250000000 ] || fails "gatepost/$name has $size bytes"
  user=$(docker image inspect --format '{{.Config.User}}' "gatepost/$name")
  [ "$user" = 1000:1000 ] || fails "gatepost/$name runs as '$user'"
  left=$(inside "$name" find / -xdev \( -path '*/node_modules/npm' -o -path '*/node_modules/typescript' -o -path '*/node_modules/jest' \
    -o -path '*/node_modules/prisma' -o -path '*/@gatepost/testkit' -o -name 'playwright-core' \))
  [ -z "$left" ] || fails "gatepost/$name holds $left"
  holds "gatepost/$name: $((size / 1000000)) MB, not root, without development dependencies"
done
for name in webhook-api dispatcher; do
  [ -z "$(inside "$name" find /app -path '*@prisma*')" ] || fails "Prisma is in gatepost/$name"
done
holds 'the webhook API and the dispatcher have no Prisma'

trap 'compose --profile smoke down --volumes --timeout 30 || true' EXIT
compose --profile smoke down --volumes
compose up --detach --wait
holds 'up --detach --wait'
for name in $services; do
  compose exec --no-TTY "$name" sh -c '! touch /x /app/x 2>/dev/null && touch /tmp/x' || fails "$name can write to its root file system"
done
holds 'the root file systems are read-only'
compose run --rm smoke
compose up --detach --wait --scale dispatcher=4 --scale auth=2 --scale webhook-api=2
compose run --rm smoke
[ "$(of dispatcher) $(of auth) $(of webhook-api)" = '4 2 2' ] || fails 'the smoke test changed the number of containers'
holds 'four dispatchers, two gates and two webhook APIs, also after the smoke test'

asks='for (let i = 0; i < 40; i++) if (!(await fetch("http://edge:4400/.well-known/openid-configuration")).ok) process.exit(1);'
compose exec --no-TTY dispatcher node --input-type=module --eval "$asks" || fails 'a gate does not answer'
counts='console.log(/^http_request_duration_seconds_count/m.test(await (await fetch("http://127.0.0.1:4401/metrics")).text()))'
for container in $(compose ps --quiet auth); do
  [ "$(docker exec "$container" node --input-type=module --eval "$counts")" = true ] || fails "the gate $container got no request"
done
holds 'both gates answer behind the proxy'

asks='const page = await (await fetch("http://edge:4500/console/")).text(), [asset] = page.match(/assets\/[\w-]+\.js/) ?? [];
  process.exit(asset && (await fetch(`http://edge:4500/console/${asset}`)).ok ? 0 : 1)'
compose exec --no-TTY dispatcher node --input-type=module --eval "$asks" || fails 'the webhook API has no console'
holds 'the webhook API serves the console'

for name in $services; do
  container=$(compose ps --quiet "$name" | sed --quiet 1p)
  from=$(date +%s%N)
  docker stop "$container" >/dev/null
  took=$((($(date +%s%N) - from) / 1000000))
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fails "$name was killed"
  [ "$took" -lt 10000 ] || fails "$name took $took ms to stop"
  holds "docker stop $name: $took ms"
done

kept="SELECT count(*) FROM webhooks.deliveries"
rows() { compose exec --no-TTY postgres psql --username gatepost --tuples-only --no-align --command "$kept" gatepost; }
compose up --detach --wait
before=$(rows)
[ "$before" -gt 0 ] || fails 'no delivery was kept'
compose down
compose up --detach --wait
[ "$(rows)" = "$before" ] || fails "$before deliveries before down, $(rows) after up"
compose run --rm smoke
holds "down and up keep the data: $before deliveries"

for cold in $(seq "${COLD_STARTS:-8}"); do
  compose down --volumes
  compose up --detach --wait || fails "cold start $cold"
done
holds "${COLD_STARTS:-8} cold starts"
