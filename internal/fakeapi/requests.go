package fakeapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is what a program asked, without its secrets.
type Request struct {
	Vendor  Vendor // "" is neither's: a probe, or a CONNECT
	Method  string
	Path    string // without the query; of a CONNECT, the host that was wanted
	At      time.Time
	Model   string
	Prompt  string   // the last user text
	Prompts []string // all user texts, in the history's order; the program's own insertions are left out
	Tools   []string // the names it offers
	Auth    string   // oauth, key, none
	Status  int      // as answered; 0 while it is not, and for ever where the connection was closed instead
	Main    bool     // asks the model for work, as opposed to counting, titling, summing up or looking up
	Opens   bool     // Prompt is its newest entry: the turn begins with this request
	Retry   bool     // the program asks the same again, on its own account
	// Conversation is the program's own name for it; "" where it does not say.
	Conversation string

	body []byte
	key  string // the same for a request and its retries; "" where the program does not tell them apart
}

// Says reports whether the request holds this text anywhere, the program's own
// insertions included. The text must be one that JSON writes as it is.
func (r Request) Says(text string) bool { return bytes.Contains(r.body, []byte(text)) }

// Requests lists what was asked so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Count is how often a prompt was delivered as one: the main requests whose
// turn it opens. What a program repeats by itself does not count, neither the
// history that goes along with a tool's result nor its retries.
func (s *Server) Count(prompt string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Main && r.Opens && !r.Retry && r.Prompt == prompt {
			n++
		}
	}
	return n
}

// Wait returns the first request that fits, now or once it is asked. Each is
// looked at when it arrives and again when it was answered.
func (s *Server) Wait(ctx context.Context, fits func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		asked, changed := slices.Clone(s.asked), s.changed
		s.mu.Unlock()
		if i := slices.IndexFunc(asked, fits); i >= 0 {
			return asked[i], nil
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return Request{}, fmt.Errorf("wait for a request: the server is closed")
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for a request: %w, after %d others", ctx.Err(), len(asked))
		}
	}
}

// record keeps a request and returns its place, which answered needs.
func (s *Server) record(r Request) (Request, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Main && r.key != "" {
		r.Retry = s.keys[r.key]
		s.keys[r.key] = true
	}
	s.asked = append(s.asked, r)
	s.tell()
	return r, len(s.asked) - 1
}

func (s *Server) answered(i, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[i].Status == 0 {
		s.asked[i].Status = status
		s.tell()
	}
}

// tell wakes every Wait. The caller holds mu.
func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// authKind says how a request was signed, and forgets with what.
func authKind(h http.Header) string {
	bearer, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	switch {
	case ok && (strings.HasPrefix(bearer, "sk-ant-oat") || strings.HasPrefix(bearer, "eyJ")):
		return "oauth"
	case ok || h.Get("X-Api-Key") != "":
		return "key"
	}
	return "none"
}

// inserted are the heads of what the programs put into a user's mouth next to
// the prompt: notes about the place they run in.
var inserted = []string{
	"<system-reminder>", "<environment_context>", "<user_instructions>", "# AGENTS.md instructions",
	"<subagent_notification>", "<turn_aborted>", "<skill>", "<permissions instructions>", "<local-command-", "<command-name>",
}

// resumed are the heads of what the programs say to themselves, as the user, to
// go on with a turn that is under way: after a summary, a cut or a hook.
var resumed = []string{
	"This session is being continued from a previous conversation", "Another language model started to solve this problem",
	"Your response above was cut off", "Output token limit hit", "Stop hook feedback",
}

// entry is one entry of a history, whichever vendor's words it was told in.
type entry struct {
	user bool
	text string
}

// note fills in what the history says about the prompt.
func (r *Request) note(history []entry) {
	for _, e := range history {
		text := strings.TrimSpace(e.text)
		begins := func(head string) bool { return strings.HasPrefix(text, head) }
		switch {
		case !e.user, slices.ContainsFunc(resumed, begins):
			r.Opens = false
		case slices.ContainsFunc(inserted, begins):
		default:
			r.Opens, r.Prompt = true, e.text
			r.Prompts = append(r.Prompts, e.text)
		}
	}
}
