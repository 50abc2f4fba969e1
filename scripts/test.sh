#!/bin/sh
# Runs every test once, with the race detector.
set -eu
gotestsum="$(pwd)/.tools/gotestsum"
export CGO_ENABLED=1 # the race detector needs it
exec "$gotestsum" --format testname --hide-summary=skipped -- -race -shuffle=on -timeout 40m ./...
