package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
)

// Exit codes of commands. How a message ended has its own (supervisor.Exit), in
// the same numbers. Scripts rely on them.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitSignIn  = 4
	exitPerson  = 5
	exitStopped = 130
)

// UserError is what a person is told: what happened, then what to try.
type UserError = supervisor.Refusal

func usage(msg, hint string) error { return &UserError{Msg: msg, Hint: hint, Code: exitUsage} }

// exitCode ends a command whose outcome was already printed.
type exitCode int

func (e exitCode) Error() string { return "exit" }

// explain turns an error of ours into what a person is told.
func explain(err error) *UserError {
	var trouble *store.Trouble
	var problems config.Problems
	switch {
	case errors.Is(err, api.ErrNobody), errors.Is(err, api.ErrCut), errors.Is(err, api.ErrLeaving):
		return &UserError{Msg: err.Error(), Hint: "try again; `paceline serve` in another terminal shows what the server says", Code: exitFailed}
	case errors.As(err, &trouble):
		return &UserError{Msg: trouble.Error(), Hint: trouble.Hint, Code: exitFailed}
	case errors.As(err, &problems):
		return &UserError{Msg: strings.TrimRight(problems.Error(), "\n"), Code: exitUsage}
	case errors.Is(err, supervisor.ErrBusy):
		return &UserError{Msg: err.Error(), Hint: "wait until it is done, or start a new thread by leaving out -t and -c", Code: exitFailed}
	case errors.Is(err, context.Canceled):
		return &UserError{Msg: "stopped", Code: exitStopped}
	}
	msg := err.Error()
	if strings.HasPrefix(msg, "unknown command") {
		return &UserError{Msg: msg, Hint: "`paceline help` lists the commands", Code: exitUsage}
	}
	return &UserError{Msg: msg, Code: exitFailed}
}
