// Package api is how commands talk to the server of their user: HTTP on a
// socket that only he can open. client.go and server.go share the types here.
//
// What a client may say is what stands in these types. Whatever else a request
// carries is dropped: who sent a message, what its claim is and which
// generation holds a seat are the server's to say.
package api

import (
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/supervisor"
)

// Prompt asks for a message to be accepted. ID is the client's, and accepted
// once: a client that did not hear the answer says the same again.
type Prompt struct {
	ID     paceline.MessageID `json:"id"`
	Text   string             `json:"text"`
	Steer  bool               `json:"steer,omitempty"`  // add it to what runs, where anything does
	Thread paceline.ThreadID  `json:"thread,omitempty"` // "" begins a new one
	Begin  *Begin             `json:"begin,omitempty"`  // the new one
	// Patience is how long it may wait for an engine to come back, in nanoseconds;
	// 0 is for as long as it takes, negative is not at all.
	Patience time.Duration `json:"patience,omitempty"`
	Trust    string        `json:"trust,omitempty"` // the digest of project files that the user has just agreed to
	Client   Client        `json:"client"`
}

// Begin is what a new thread is begun with.
type Begin struct {
	Dir    string        `json:"dir"`
	Tree   string        `json:"tree"`
	Policy config.Policy `json:"policy"`
}

// Client is whoever asks.
type Client struct {
	Env      []string `json:"env,omitempty"`  // the variables that children get
	Keys     []string `json:"keys,omitempty"` // of declared metered accounts; never kept on disk
	Attended bool     `json:"attended"`       // somebody may answer what a run asks
}

// Accepted is the answer to a Prompt.
type Accepted struct {
	Thread  paceline.ThreadID  `json:"thread"`
	Message paceline.MessageID `json:"message"`
	Mode    string             `json:"mode"`
	Chain   []string           `json:"chain"`
	Steered bool               `json:"steered,omitempty"` // it was added to what runs
	After   string             `json:"after"`             // the offset behind which the message's events stand
}

// Info is what a server says of itself.
type Info struct {
	Version  string     `json:"version"`
	Store    string     `json:"store"`          // where it keeps its state; without a password
	Away     *time.Time `json:"away,omitempty"` // since when its database does not answer
	Pid      int        `json:"pid"`
	Since    time.Time  `json:"since"`
	Serving  int        `json:"serving"` // threads at work
	Draining bool       `json:"draining"`
	Lasting  bool       `json:"lasting"` // a service manager keeps it across logouts and reboots
	// Heard is when each thread's program last gave a sign of life.
	Heard   map[paceline.ThreadID]time.Time `json:"heard,omitempty"`
	Carried []paceline.ThreadID             `json:"carried,omitempty"` // threads that it took up when it started
	// Lost are threads that go on although the terminal that they were watched
	// from went away.
	Lost []paceline.ThreadID `json:"lost,omitempty"`
}

// trust agrees to a tree's project files.
type trust struct {
	Dir    string `json:"dir"`
	Tree   string `json:"tree"`
	Digest string `json:"digest"`
}

// decision answers a run's question.
type decision struct {
	Allow  bool   `json:"allow"`
	Client Client `json:"client"`
}

// found settles calls of which nobody knew whether they took effect.
type found struct {
	Took map[int64]bool `json:"took"`
}

// Line is one line of a stream: an event, or why there are no more.
type Line struct {
	*supervisor.Event
	Trouble *supervisor.Refusal `json:"trouble,omitempty"`
}

// versionHeader carries each side's version.
const versionHeader = "Paceline-Version"
