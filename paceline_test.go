package paceline_test

import (
	"encoding/json"
	"testing"

	"github.com/paceline/paceline"
)

func TestEngine(t *testing.T) {
	for in, want := range map[string]paceline.Engine{
		"claude":             {Account: "claude"},
		" codex ":            {Account: "codex"},
		"office:gpt-5.6-sol": {Account: "office", Model: "gpt-5.6-sol"},
		"claude:opus:[1m]":   {Account: "claude", Model: "opus:[1m]"},
	} {
		got, err := paceline.ParseEngine(in)
		if err != nil || got != want {
			t.Errorf("ParseEngine(%q) = %+v, %v", in, got, err)
		}
		if back, _ := paceline.ParseEngine(got.String()); back != got {
			t.Errorf("%q does not read back", got)
		}
	}
	for _, in := range []string{"", ":", ":opus", "claude:"} {
		if got, err := paceline.ParseEngine(in); err == nil {
			t.Errorf("ParseEngine(%q) = %+v", in, got)
		}
	}
}

// TestSafeZeros: what nobody set must never move work.
func TestSafeZeros(t *testing.T) {
	var f paceline.Failure
	if f.Work != paceline.WorkUnknown || f.Cause != paceline.CauseUnknown {
		t.Error("the zero failure reads as more than unknown")
	}
	if paceline.OutcomeIncomplete != 0 || paceline.PostureUnknown != 0 || paceline.ModeRead != 0 || paceline.KindUnknown != 0 {
		t.Error("a zero value is not the safe one")
	}
}

func TestEnumsReadBack(t *testing.T) {
	for c := paceline.CauseUnknown; c <= paceline.CauseOther; c++ {
		b, _ := json.Marshal(c)
		var back paceline.Cause
		if err := json.Unmarshal(b, &back); err != nil || back != c {
			t.Errorf("%s reads back as %s, %v", b, back, err)
		}
	}
	var c paceline.Cause
	if err := c.UnmarshalText([]byte("usage limit")); err == nil {
		t.Error("a wrong name was taken")
	}
}
