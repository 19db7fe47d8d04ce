#!/bin/sh
# Installs packages of Debian or Ubuntu as root, without letting the distribution start a server or make a database cluster:
# the private instances are ours. What is put in place for that is taken away again, also on failure.
#   debian-install.sh <package>...
set -eu
umask 022

root="${GATEPOST_INSTALL_ROOT:-}" # for tests: where the files below are put instead
policy="$root/usr/sbin/policy-rc.d"
folder="$root/etc/postgresql-common"
cluster="$folder/createcluster.d/gatepost.conf"
mark='# put here by gatepost while it installs a package'
export DEBIAN_FRONTEND=noninteractive

restore() {
  if grep --quiet --no-messages "$mark" "$policy"; then rm --force "$policy"; fi
  rm --force "$cluster"
  rmdir --ignore-fail-on-non-empty "$folder/createcluster.d" "$folder" 2> /dev/null || true
}
trap restore EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" > "$policy"
  chmod 755 "$policy"
fi
mkdir --parents "$folder/createcluster.d"
printf 'create_main_cluster = false\n' > "$cluster"

# A dpkg that was stopped half way refuses everything until it is told to go on.
if [ -n "$(ls "$root/var/lib/dpkg/updates" 2> /dev/null)" ]; then dpkg --configure --pending; fi
apt-get --quiet update
apt-get --quiet --yes --no-install-recommends --option Dpkg::Options::=--force-confold install "$@"

if [ -d /run/systemd/system ]; then
  for package in "$@"; do
    case "$package" in
      postgresql | pgbouncer | redis-server) units="$package.service" ;;
      rabbitmq-server) units='rabbitmq-server.service epmd.service epmd.socket' ;;
      *) units='' ;;
    esac
    for unit in $units; do systemctl disable --now "$unit" 2> /dev/null || true; done
  done
fi
