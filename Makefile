# Everything here works in a fresh clone; what a target needs it installs
# itself, into ignored folders of the checkout.

SHELL := /bin/sh
TOOLS := $(CURDIR)/.tools
export GOBIN := $(TOOLS)
export CGO_ENABLED ?= 0

GOFUMPT := mvdan.cc/gofumpt@v0.12.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOTESTSUM := gotest.tools/gotestsum@v1.13.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0


.PHONY: build install try test test-acp check bench bench-scan soak vuln clean

build: bin/paceline

.PHONY: bin/paceline
bin/paceline:
	@go build -trimpath -o bin/paceline ./cmd/paceline

install:
	@env -u GOBIN go install ./cmd/paceline

# The pinned real CLIs. They are never committed and never used with a real
# account: tests and `make try` give them fake ones and a loopback network.
node_modules/.installed: package-lock.json
	@echo "installing the pinned Claude Code and Codex CLIs ..."
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

try: build node_modules/.installed
	@go run ./internal/try

test: node_modules/.installed $(TOOLS)/gotestsum
	@sh scripts/test.sh

# Real agents that speak ACP, pinned: half a gigabyte, and slow to start. Not by
# `npm ci`: it wants every platform's build of them in the lock, and fails where a
# registry does not have one.
e2e/agents/node_modules/.installed: e2e/agents/package-lock.json
	@echo "installing the pinned agents ..."
	@cd e2e/agents && npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

test-acp: node_modules/.installed e2e/agents/node_modules/.installed
	@PACELINE_AGENTS=1 go test -count=1 -timeout 20m -v -run Agents ./e2e

check: $(TOOLS)/gofumpt $(TOOLS)/golangci-lint
	@out=$$($(TOOLS)/gofumpt -l cmd internal *.go); if [ -n "$$out" ]; then echo "not formatted (gofumpt -w):"; echo "$$out"; exit 1; fi
	@go vet ./...
	@$(TOOLS)/golangci-lint run ./...
	@GOOS=darwin GOARCH=arm64 go vet ./cmd/paceline
	@$(MAKE) --no-print-directory vuln

bench: build node_modules/.installed
	@go run ./internal/bench
	@go test -run '^$$' -bench Share -benchtime 300x ./internal/supervisor
	@go test -run '^$$' -bench Packet -benchtime 10x ./internal/supervisor ./internal/packet
	@go test -run '^$$' -bench Frames -benchtime 50x ./internal/replay
	@go test -run '^$$' -bench Long -benchtime 5x ./internal/notice

# The counter that the scan for usage is measured against; it is used nowhere else.
.bench/ccusage/node_modules/.installed:
	@mkdir -p .bench/ccusage
	@cd .bench/ccusage && npm install --no-save --prefix . --no-audit --no-fund --loglevel=error ccusage@20.0.24
	@touch $@

# Makes trees of 1.6 GB in .bench, once.
bench-scan: .bench/ccusage/node_modules/.installed
	@go build -o .bench/bench ./internal/bench
	@.bench/bench -n 7 scan

# Longer than a test may take: torture by kill -9, fuzzing.
soak: node_modules/.installed $(TOOLS)/gotestsum
	@PACELINE_SOAK=1 sh scripts/test.sh

vuln:
	@sh scripts/vuln.sh "$(GOVULNCHECK)"

$(TOOLS)/gofumpt:
	@go install $(GOFUMPT)
$(TOOLS)/golangci-lint:
	@echo "building golangci-lint ..."; go install $(GOLANGCI)
$(TOOLS)/gotestsum:
	@go install $(GOTESTSUM)

clean:
	@rm -rf bin .try .bench
