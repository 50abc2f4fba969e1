// Package fakeapi plays the vendors' APIs on loopback, so that the real
// programs can be driven through a usage limit, a sign-out or a dead connection
// without an account and without a route out of the machine.
//
// One listener speaks Anthropic Messages and OpenAI Responses. A Script holds
// the answers to the main requests of each vendor, in order. Everything else
// that the programs ask on the way (token counts, model lists, allowances,
// sign-in checks, telemetry) is answered plausibly and takes nothing from the
// script, since how often they ask it is theirs to decide.
//
// What a program sends is kept as a Request: enough to tell how often a prompt
// was delivered, and never a token. Keeping the two apart from one another is
// the point of Count: a program that retries the same turn, or goes on after a
// tool's result, sends the same prompt again over the wire without anyone
// having asked for it twice.
//
// It will not play the vendors' own hosts: a program is pointed here by
// ClaudeEnv and CodexEnv, whose tokens are made up.
package fakeapi
