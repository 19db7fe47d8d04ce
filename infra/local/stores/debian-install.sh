#!/bin/sh
# Installs Debian or Ubuntu packages, its arguments, as root, without letting the distribution start a server or make a database cluster:
# we run our own instances. The files that prevent it are removed at the end, even on failure.
set -eu
umask 022

root="${GATEPOST_INSTALL_ROOT:-}" # for tests: where to put the files below
policy="$root/usr/sbin/policy-rc.d"
cluster="$root/etc/postgresql-common/createcluster.d/gatepost.conf"
mark='# put here by gatepost while it installs a package'

trap 'if grep -qs "$mark" "$policy"; then rm -f "$policy"; fi; rm -f "$cluster"' EXIT
trap 'exit 143' TERM
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" > "$policy"
  chmod 755 "$policy"
fi
mkdir -p "$(dirname "$cluster")"
echo 'create_main_cluster = false' > "$cluster"

export DEBIAN_FRONTEND=noninteractive
dpkg --configure --pending # an interrupted dpkg refuses everything until this has run
apt-get --quiet update
apt-get --quiet --yes --no-install-recommends --option Dpkg::Options::=--force-confold install "$@"

# systemd must not start them at boot either. A package without a server has no unit of its name.
case "$*" in *rabbitmq-server*) set -- "$@" epmd.service epmd.socket ;; esac
if [ -d /run/systemd/system ]; then
  for unit in "$@"; do systemctl disable --now "$unit" 2> /dev/null || true; done
fi
