#!/bin/sh
# Scans for known vulnerabilities. The database is fetched as a module, since
# its own host cannot be reached from everywhere. Findings in the standard
# library are the toolchain's business and only warn; called ones in modules
# fail. Where the database cannot be had this says so and passes.
set -eu
tool="$1"
bin="$GOBIN/govulncheck"
db="$GOBIN/vulndb"
[ -x "$bin" ] || go install "$tool"
if [ ! -f "$db/index/db.json" ]; then
	work=$(mktemp -d)
	if ! (cd "$work" && go mod init scan >/dev/null 2>&1 &&
		go mod download golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018 &&
		go get -tool golang.org/x/vulndb/cmd/indexdb@v0.0.0-20261105234957-e22db6528018 >/dev/null 2>&1 &&
		go tool indexdb -vulns "$(go list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" -out "$db"); then
		rm -rf "$work"
		echo "vulnerability scan: not run (its database cannot be had here)"
		exit 0
	fi
	rm -rf "$work"
fi
out=$("$bin" -db "file://$db" -format json ./... ) || { echo "$out" | tail -20; exit 1; }
# A finding with a trace that ends in a function is called.
called=$(printf '%s\n' "$out" | awk '
	/"finding"/ {f=1; osv=""; mod=""; fn=0}
	f && /"osv":/ {gsub(/[",]/,""); osv=$2}
	f && /"module":/ && mod=="" {gsub(/[",]/,""); mod=$2}
	f && /"function":/ {fn=1}
	/^}/ {if (f && fn) print osv, mod; f=0}' | sort -u)
std=$(printf '%s\n' "$called" | grep -c ' stdlib$' || true)
other=$(printf '%s\n' "$called" | grep -v ' stdlib$' | grep -v '^ *$' || true)
[ "$std" = 0 ] || echo "vulnerability scan: $std advisories in this Go toolchain's own library; build releases with a newer one"
if [ -n "$other" ]; then
	echo "vulnerability scan: called code with known vulnerabilities:"
	echo "$other"
	exit 1
fi
echo "vulnerability scan: nothing in our modules"
