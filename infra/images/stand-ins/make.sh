#!/bin/bash
# Where no image can be pulled: builds stand-ins for the base images of docker-compose.yml and the Dockerfiles, under the same names, from
# Debian's packages and this workspace's `node`. Their versions are Debian's, not those in their names. Run it as root on Debian, with
# debootstrap, a Docker engine with buildx, and the workspace's dependencies installed (npm start). Then run prove.sh in this folder.
#   BOOKWORM_ROOT and TRIXIE_ROOT may name existing folders made by debootstrap.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=names.sh
. "$here/names.sh"

mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -1)
# Like Debian's slim images: without documentation and translations.
make_root() { # make_root SUITE FOLDER
  [ -d "$2/usr" ] || debootstrap --variant=minbase "$1" "$2" "$mirror"
  tar --create --directory "$2" --exclude=./usr/share/doc/* --exclude=./usr/share/man/* --exclude=./usr/share/locale/* \
    --exclude=./usr/share/info/* --exclude=./var/cache/apt/* --exclude=./var/lib/apt/lists/* --exclude=./dev/* --exclude=./proc/* \
    --exclude=./sys/* . | docker import --change 'CMD ["bash"]' - "$3" >/dev/null
}
make_root bookworm "${BOOKWORM_ROOT:-$work/bookworm}" "$BASE_IMAGE"
make_root trixie "${TRIXIE_ROOT:-$work/trixie}" debian:trixie-slim

mkdir "$work/context"
cp "$here"/*.entry.sh "$here/Dockerfile" "$work/context"
cp /etc/ssl/certs/ca-certificates.crt "$work/context" # this machine's mirror or proxy may have its own CA
cp --dereference "$root/node_modules/node/bin/node" "$work/context/node"
cp --recursive --dereference "$(npm root --global)/npm" "$work/context/npm"
for target in node postgres redis rabbitmq nginx; do
  name="${target^^}_IMAGE"
  docker build --quiet --network host --build-arg "BASE_IMAGE=$BASE_IMAGE" --target "$target" --tag "${!name}" "$work/context" >/dev/null
  echo "$target: ${!name}"
done
