// Package paceline is the vocabulary of Paceline: the nouns that every other
// package speaks of, and nothing that acts.
//
// A message is answered by runs, one at a time. A run is one attempt on one
// engine; what its evidence says it did is its work. A run that failed having
// done no work may be sent again, once, on the next engine of its chain: that
// right is its claim. Everything else in this module is either a way to read
// what an engine said (wire, notice), a rule over values (run, place), or the
// shell that reads, records and then acts (store, outbox, supervisor, harness,
// guard).
//
// The zero value of every enumeration here is its safe reading: an unknown
// cause moves nothing, unknown work counts as work, an unknown posture is not
// spent.
package paceline
