package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/supervisor"
	"github.com/paceline/paceline/internal/team"
)

// Team asks for a team to be begun.
type Team struct {
	Dir    string        `json:"dir"`
	Tree   string        `json:"tree"`
	From   string        `json:"from"` // the folder of its participants, which the server reads
	Task   string        `json:"task"`
	Rules  team.Rules    `json:"rules"`
	Policy config.Policy `json:"policy"`
	Trust  string        `json:"trust,omitempty"` // the digest of project files that the user has just agreed to
	Client Client        `json:"client"`
}

// word is what a person says to a team.
type word struct {
	supervisor.Word
	Client Client `json:"client"`
}

// agreed are participants' files that the user agreed to.
type agreed struct {
	Tree    string   `json:"tree"`
	Digests []string `json:"digests"`
}

// BeginTeam has a team begun.
func (c *Conn) BeginTeam(ctx context.Context, t Team) (a Accepted, err error) {
	return a, c.do(ctx, http.MethodPost, "/v1/teams", t, &a)
}

// Tell gives a person's word to a team.
func (c *Conn) Tell(ctx context.Context, id paceline.ThreadID, w supervisor.Word, who Client) (s team.State, err error) {
	return s, c.do(ctx, http.MethodPost, at(id, "team"), word{w, who}, &s)
}

// TrustTeam agrees to participants' files.
func (c *Conn) TrustTeam(ctx context.Context, tree string, digests []string) error {
	return c.do(ctx, http.MethodPost, "/v1/trust/team", agreed{tree, digests}, nil)
}

func (s *Server) beginTeam(w http.ResponseWriter, r *http.Request) {
	var t Team
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil || t.Task == "" || t.From == "" {
		refuse(w, http.StatusBadRequest, unread)
		return
	}
	if s.Sup.Draining() {
		refuse(w, http.StatusServiceUnavailable, &supervisor.Refusal{Msg: "the server is being drained", Hint: "the next one takes it", Code: 1})
		return
	}
	env := harness.Environment(t.Client.Env)
	th, at, err := s.Sup.BeginTeam(r.Context(), supervisor.Squad{
		Dir: t.Dir, Tree: t.Tree, From: t.From, Task: t.Task, Rules: t.Rules, Policy: t.Policy, Agreed: t.Trust, Env: env,
	})
	if err != nil {
		fail(w, err)
		return
	}
	s.Sup.Came(th.ID, env, t.Client.Keys)
	s.Sup.Attend(th.ID, t.Client.Attended)
	s.Sup.Wake(th.ID)
	reply(w, accepted(th, "", at))
}

func (s *Server) tell(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	var say word
	if err := json.NewDecoder(r.Body).Decode(&say); err != nil {
		refuse(w, http.StatusBadRequest, unread)
		return
	}
	if len(say.Client.Env) > 0 {
		s.Sup.Came(id, say.Client.Env, say.Client.Keys)
	}
	now, err := s.Sup.Tell(r.Context(), id, say.Word)
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, now)
}

func (s *Server) trustTeam(w http.ResponseWriter, r *http.Request) {
	var a agreed
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		refuse(w, http.StatusBadRequest, unread)
		return
	}
	if err := s.Sup.TrustTeam(r.Context(), a.Tree, a.Digests); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

var unread = &supervisor.Refusal{Msg: "the request cannot be read", Hint: "client and server may be of different versions", Code: 1}
