#!/bin/sh
# Runs every test once, with the race detector.
set -eu
# What needs PostgreSQL is skipped where none is installed, but not unseen in CI.
if [ -n "${CI:-}" ] && ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
	sudo=""
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get update -q && $sudo apt-get install -q -y --no-install-recommends postgresql
fi
gotestsum="$(pwd)/.tools/gotestsum"
export CGO_ENABLED=1 # the race detector needs it
exec "$gotestsum" --format testname --hide-summary=skipped -- -race -shuffle=on -timeout 40m ./...
