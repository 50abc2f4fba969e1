package supervisor

import (
	"sync"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
)

// clients remembers the variables that each thread's last client came with. The
// public ones are on disk with the thread as well; a token or a key is kept
// here alone, so after a restart it is the server's own that is used.
type clients struct {
	mu    sync.Mutex
	known map[paceline.ThreadID]client
}

type client struct {
	env  harness.Environment // what children get
	keys harness.Environment // of declared metered accounts
}

// Came keeps the variables of a thread's client for as long as this server
// lives.
func (s *Supervisor) Came(id paceline.ThreadID, env, keys harness.Environment) {
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	s.clients.known[id] = client{env, keys}
}

// of is what the children of a thread get, and the keys that its accounts may
// need.
func (c *clients) of(th store.Thread, own Options) (env, keys harness.Environment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.known[th.ID]; ok {
		return k.env, k.keys
	}
	if len(th.Env) == 0 {
		return own.Env, own.Keys
	}
	return harness.Environment(th.Env).With(own.Env.Secret()...), own.Keys
}
