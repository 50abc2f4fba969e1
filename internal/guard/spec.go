package guard

import (
	"fmt"
	"time"
)

// Marker is the variable that every process of a run carries, unless it cleared
// its environment.
const Marker = "PACELINE_RUN"

// Spec is what a guard is told. It goes over a pipe and never into arguments,
// which every user of the machine can read.
type Spec struct {
	Run   string   `json:"run"`            // the run's id; the child carries PACELINE_RUN=<Run>
	Argv  []string `json:"argv"`           // a name without a slash is looked for on Env's PATH
	Env   []string `json:"env"`            // all of it: the guard adds the marker and nothing else
	Dir   string   `json:"dir"`            //
	Lock  string   `json:"lock"`           // created if missing, and left behind: removing it would race with the next holder
	Cage  *Cage    `json:"cage,omitempty"` // nil: none
	Grace Grace    `json:"grace"`
}

// Grace is how long a tree is asked before it is made to. Zero is not at all.
type Grace struct {
	Interrupt time.Duration `json:"interrupt"` // after SIGINT to the harness
	Term      time.Duration `json:"term"`      // after SIGTERM to everything that is left
}

// Cage confines the child, and all that it starts, to writing beneath a few
// folders. It reads and executes everywhere.
//
// Not confined: a file's mode, owner, times and extended attributes; Unix
// sockets; signals. Device nodes cannot be made, not even inside.
type Cage struct {
	// Writable are absolute folders or files. A missing folder is created (0700),
	// a missing file is passed over: a name with an extension is taken for a file.
	// "/" lifts the confinement of writes.
	Writable []string `json:"writable"`
	// Network false refuses TCP, to connect and to listen. UDP, and so name
	// resolution, Unix sockets and multipath TCP stay open: it keeps the innocent
	// from the network, not the determined.
	Network bool `json:"network"`
}

// Process is one that was ended.
type Process struct {
	Pid  int    `json:"pid"`
	Name string `json:"name"` // the kernel's short name; arguments may hold secrets
}

// Ended is how a tree ended.
type Ended struct {
	Exit    int       `json:"exit"`              // the harness's exit code, -1 where it has none
	Signal  string    `json:"signal,omitempty"`  // what killed the harness, e.g. SIGKILL
	Stopped []Process `json:"stopped,omitempty"` // what the guard had to end besides the harness
	Lost    bool      `json:"lost,omitempty"`    // the guard was killed; how the harness ended is not known
}

// String says how the harness ended, for people.
func (e Ended) String() string {
	switch {
	case e.Lost:
		return "its guard was killed"
	case e.Signal != "":
		return "by " + e.Signal
	}
	return fmt.Sprintf("exit %d", e.Exit)
}

// The commands on the control pipe, a line each. Its end is a command as well.
const (
	cmdStop   = "stop"
	cmdKill   = "kill"
	cmdFreeze = "freeze"
	cmdGone   = "" // the server closed the pipe, most likely by dying
)

// event is a line on the status pipe.
type event struct {
	Event string `json:"event"` // started, refused, frozen, ended
	Pid   int    `json:"pid,omitempty"`
	Why   string `json:"why,omitempty"` // refused; frozen, where something did not stop
	*Ended
}

// The guard's two pipes.
const (
	controlFD = 3
	statusFD  = 4
)
