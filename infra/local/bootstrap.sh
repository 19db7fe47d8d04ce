#!/bin/sh
# The first program of every `npm` command: bootstrap.sh PROGRAM [arguments]. With nothing installed yet, and on the machine's own Node, it
# installs the dependencies, generates the database clients and builds the services if they are out of date. Then it becomes
# `commands/command.ts` on the pinned Node, with the same arguments.
set -eu
cd "$(dirname "$0")/../.."
# With administrators' programs, often not in a user's PATH.
export PATH="$PWD/node_modules/.bin:$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# Runs a preparation silently; shows the end of its output if it fails. These programs send no telemetry and ask no questions.
step() {
  echo "  … $1" >&2 # not part of the command's output
  shift
  output=$(CI="${CI:-true}" TURBO_TELEMETRY_DISABLED=1 DO_NOT_TRACK=1 CHECKPOINT_DISABLE=1 "$@" 2>&1) && return
  printf '`%s` failed:\n' "$*" >&2
  printf '%s\n' "$output" | tail -n 15 >&2
  exit 1
}

help="${1%.ts}-help.txt"
case " $* " in *' --help '* | *' -h '*) if [ -f "$help" ]; then exec cat "$help"; fi ;; esac

# An interrupted installation leaves no copy of the lock file.
if ! cmp -s pnpm-lock.yaml node_modules/.gatepost-lock.yaml; then
  step dependencies npx --yes "$(node -p 'require("./package.json").packageManager')" install --frozen-lockfile
  cp pnpm-lock.yaml node_modules/.gatepost-lock.yaml
fi
# Both skip what has not changed.
step 'generated code' turbo run generate build --output-logs=errors-only --no-update-notifier
step build tsc --build services/auth services/webhook-api services/dispatcher

# Cached compiled code speeds up later starts; the services inherit this.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/node}"
exec node_modules/node/bin/node --conditions=source --disable-warning=ExperimentalWarning infra/local/commands/command.ts "$@"
