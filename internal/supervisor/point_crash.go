//go:build crashpoints

package supervisor

import (
	"os"
	"strings"
	"sync"
	"syscall"
)

var passed struct {
	sync.Mutex
	times map[string]int
}

// point kills this process, as a power cut would, where PACELINE_CRASH_POINT says:
// "name", or "name 2" for the second time that it comes by. Where
// PACELINE_STOP_POINT says so it is halted instead, as a suspend would, until it is
// told to go on.
func point(name string) {
	passed.Lock()
	if passed.times == nil {
		passed.times = map[string]int{}
	}
	passed.times[name]++
	at := name + strings.Repeat(" 2", passed.times[name]-1)
	passed.Unlock()
	switch at {
	case os.Getenv("PACELINE_CRASH_POINT"):
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case os.Getenv("PACELINE_STOP_POINT"):
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}
