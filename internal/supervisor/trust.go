package supervisor

import (
	"context"
	"fmt"

	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
)

// Untrusted is what a tree would have programs do by themselves, and to which
// nobody has agreed yet.
type Untrusted struct {
	Files  []string `json:"files"`
	Digest string   `json:"digest"`
}

// Vet refuses to work in a tree whose project files nobody has agreed to.
// agreed is the digest that the user has just agreed to, or "". A tree of whose
// files one changed is asked about again.
func (s *Supervisor) Vet(ctx context.Context, dir, tree, agreed string) error {
	files, digest := harness.Project(dir, tree)
	if digest == "" {
		return nil
	}
	if ok, err := s.Store.Trusted(ctx, tree, digest); ok || err != nil {
		return err
	}
	if agreed == digest {
		return s.Store.InTx(ctx, func(tx *store.Tx) error { return tx.Trust(ctx, tree, digest) })
	}
	return &Refusal{
		Msg:       fmt.Sprintf("this project brings %d files that its engines act on by themselves (hooks, settings, tool servers), and nobody agreed to them", len(files)),
		Hint:      "read them, then `paceline trust`",
		Code:      5,
		Untrusted: &Untrusted{Files: files, Digest: digest},
	}
}
