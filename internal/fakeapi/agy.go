package fakeapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Antigravity's agy cannot be had for a test: it is a download that wants an
// account. What plays it here is a program of its own, made from public
// measurements of versions 1.2.15 and 1.2.16: its flags and what it does where
// they are wrong, the shapes of its stream, where it says what, its exit codes,
// its signals, and what it runs of a project by itself. It asks no vendor; its
// script takes the vendor's place.

// AgyScript is what a scripted agy does. It lies in its own folder, and so lasts
// over several processes.
type AgyScript struct {
	// Turns are taken in order, over all processes. After the last one it answers
	// "ok".
	Turns []AgyTurn `json:"turns"`
	// SignedOut and Offline have it refuse at its start, in the same words.
	SignedOut bool `json:"signed_out,omitempty"`
	Offline   bool `json:"offline,omitempty"`
	// Mum has it refuse at its start as well, its log saying nothing of why.
	Mum bool `json:"mum,omitempty"`
	// Lapses has its sign-in end with its first turn.
	Lapses bool `json:"lapses,omitempty"`
	// Old is 1.0: a used up quota ends it without a word, and with exit 0.
	Old string `json:"old,omitempty"`
	// Astray is another folder in which it works.
	Astray string `json:"astray,omitempty"`
	// Touches is a file that it touches in every turn and tells nobody of.
	Touches string `json:"touches,omitempty"`
	// Used is the used up window that its usage tells, as its RFC 3339 reset.
	Used string `json:"used,omitempty"`
}

// AgyTurn is one turn. Its fields are played in this order.
type AgyTurn struct {
	Shell string    `json:"shell,omitempty"` // a command that it runs
	Write string    `json:"write,omitempty"` // a file that it writes
	Asks  bool      `json:"asks,omitempty"`  // it asks a question that nobody can answer
	Task  bool      `json:"task,omitempty"`  // it leaves a task running
	Text  string    `json:"text,omitempty"`
	Hang  bool      `json:"hang,omitempty"` // its model is silent
	Error *AgyError `json:"error,omitempty"`
	Odd   bool      `json:"odd,omitempty"` // it prints an event of the future
}

// AgyError is how a turn fails.
type AgyError struct {
	Text  string `json:"text"`  // what its result says
	Short string `json:"short"` // what its standard error says
	Is    string `json:"is"`    // RESOURCE_EXHAUSTED
	Code  int    `json:"code"`
	Kind  string `json:"kind"` // http, grpc
	Mute  bool   `json:"mute"` // before 1.2.6: exit 1, and nothing on the standard error
}

// AgyQuota is a used up quota, in the vendor's words.
func AgyQuota(lifts string) *AgyError {
	text := "Individual quota reached. Please upgrade your subscription to increase your limits. Resets in " + lifts + "."
	return &AgyError{Text: text, Short: "RESOURCE_EXHAUSTED (code 429): " + text, Is: "RESOURCE_EXHAUSTED", Code: 429, Kind: "http"}
}

// AgyAsked is one thing that a scripted agy was started with or told.
type AgyAsked struct {
	Args   []string `json:"args,omitempty"`
	Prompt string   `json:"prompt,omitempty"`
	Note   string   `json:"note,omitempty"` // what it did by itself: updater, hook
}

// InstallAgy puts a program named agy into a folder, which runs self with the
// given arguments before its own, and its script into the folder that a user's
// HOME holds.
func InstallAgy(dir, home, self string, script AgyScript, args ...string) error {
	own := filepath.Join(home, ".gemini")
	if err := os.MkdirAll(filepath.Join(own, "antigravity-cli", "conversations"), 0o700); err != nil {
		return fmt.Errorf("put agy in its place: %w", err)
	}
	b, err := json.Marshal(script)
	if err != nil {
		return fmt.Errorf("write agy's script: %w", err)
	}
	program := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", self, strings.Join(args, " "))
	return errors.Join(
		os.WriteFile(filepath.Join(own, "script.json"), b, 0o600),
		os.WriteFile(filepath.Join(dir, "agy"), []byte(program), 0o700),
	)
}

// AgyWasAsked lists what the scripted agy of a home was asked so far.
func AgyWasAsked(home string) (all []AgyAsked, err error) {
	f, err := os.Open(filepath.Join(home, ".gemini", "asked.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what agy was asked: %w", err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var a AgyAsked
		if err := d.Decode(&a); err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return all, fmt.Errorf("read what agy was asked: %w", err)
		}
		all = append(all, a)
	}
}

// agyFlags are those that it knows; the value says whether the next word belongs
// to it.
var agyFlags = map[string]bool{
	"--print": true, "-p": true, "--input-format": true, "--output-format": true, "--conversation": true, "--model": true, "--effort": true,
	"--add-dir": true, "--log-file": true, "--print-timeout": true, "--mode": true, "--gemini_dir": true,
	"--disable-slash-commands": false, "--dangerously-skip-permissions": false, "--sandbox": false, "--version": false,
}

// agyModels are the whole names that it knows, and agyBases those that want an
// effort.
var (
	agyModels = []string{"gemini-3.8-flash-high", "gemini-3.8-flash-low", "gemini-3.1-pro-high"}
	agyBases  = []string{"gemini-3.8-flash", "gemini-3.1-pro"}
)

// agyProcess is one run of the program.
type agyProcess struct {
	flags  map[string]string
	own    string // its folder
	dir    string // where it works
	script AgyScript
	out    *bufio.Writer
	err    io.Writer
	log    *os.File
	said   agyConversation
	id     string
	ended  bool // the result of the turn is out
}

// agyConversation is what lasts of a conversation.
type agyConversation struct {
	Step   int    `json:"step"`
	Turns  int    `json:"turns"`
	Sticky string `json:"sticky"` // the error that its status repeats
	Denied bool   `json:"denied"`
}

// Agy plays the program, and returns its exit code.
func Agy(args []string, in io.Reader, out, errs io.Writer) int {
	p := &agyProcess{out: bufio.NewWriter(out), err: errs, flags: map[string]string{}}
	if code := p.parse(args); code != 0 {
		return code
	}
	if _, ok := p.flags["--version"]; ok {
		fmt.Fprintln(out, "agy version 1.2.16")
		return 0
	}
	if p.own = p.flags["--gemini_dir"]; p.own == "" {
		p.own = filepath.Join(os.Getenv("HOME"), ".gemini")
	}
	if err := p.begin(args); err != nil {
		fmt.Fprintln(errs, "Error:", err)
		return 1
	}
	defer p.log.Close()
	if p.flags["--print"] == "/usage" {
		return p.usage()
	}
	return p.serve(in)
}

// parse takes the flags. --print is a string to it, so without an equals sign it
// swallows the next word.
func (p *agyProcess) parse(args []string) int {
	for i := 0; i < len(args); i++ {
		name, value, told := strings.Cut(args[i], "=")
		takes, known := agyFlags[name]
		switch {
		case !known:
			fmt.Fprintf(p.err, "Error: unknown flag: %s\n", name)
			return 1
		case takes && !told && i+1 < len(args):
			i++
			value = args[i]
			if strings.HasPrefix(value, "--") && name == "--print" {
				fmt.Fprintf(p.err, "Error: --print took %q as its prompt, so the intended prompt was left as an argument and ignored.\n", value)
				return 2
			}
		}
		p.flags[name] = value
	}
	model, effort := p.flags["--model"], p.flags["--effort"]
	switch {
	case model == "" || slices.Contains(agyModels, model) && effort == "" || slices.Contains(agyBases, model) && effort != "":
		return 0
	case slices.Contains(agyBases, model):
		fmt.Fprintf(p.err, "Error: model %q requires --effort (available: low, medium, high)\n", model)
	default:
		fmt.Fprintf(p.err, "Error: unknown model %q. Available: %s\n", model, strings.Join(agyModels, ", "))
	}
	return 1
}

// begin opens its log and its script, starts its updater unless it is told not
// to, and runs a project's own hook.
func (p *agyProcess) begin(args []string) (err error) {
	log := p.flags["--log-file"]
	if log == "" {
		log = filepath.Join(p.own, "cli.log")
	}
	if p.log, err = os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(p.own, "script.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &p.script); err != nil {
		return err
	}
	p.note(AgyAsked{Args: args})
	if os.Getenv("AGY_CLI_DISABLE_AUTO_UPDATE") != "true" {
		p.note(AgyAsked{Note: "updater"})
	}
	if p.dir, err = os.Getwd(); err != nil {
		return err
	}
	if p.script.Astray != "" {
		p.dir = p.script.Astray
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".agents", "hooks.json")); err == nil {
		p.note(AgyAsked{Note: "hook"})
	}
	// It says so at every start, signed in or not.
	fmt.Fprintln(p.log, "I1 auth.go:85] error getting token source: You are not logged into Antigravity.")
	fmt.Fprintln(p.log, "W1 cache.go:12] Cache(userInfo): Singleflight refresh failed: RESOURCE_EXHAUSTED (429): Resource has been exhausted (e.g. check quota).")
	return nil
}

func (p *agyProcess) note(a AgyAsked) {
	f, err := os.OpenFile(filepath.Join(p.own, "asked.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_ = json.NewEncoder(f).Encode(a)
}

// usage answers what is left, which costs none of it.
func (p *agyProcess) usage() int {
	if p.refuses() {
		return 1
	}
	left, reset := 0.81, "2026-12-31T03:12:00Z"
	if p.script.Used != "" {
		left, reset = 0, p.script.Used
	}
	fmt.Fprintf(p.out, `{"conversation_id":"","status":"SUCCESS","response":"usage","num_turns":0,"command":{"name":"usage","data":{"groups":[{"name":"Gemini Models","buckets":[{"id":"gemini-5h","name":"Five Hour Limit Remaining","window":"5h","remaining_fraction":%v,"reset_time":%q}]}]}}}`+"\n", left, reset)
	_ = p.out.Flush()
	return 0
}

// refuses plays a start without an account. Whether it has none or cannot reach
// anybody is in the log alone.
func (p *agyProcess) refuses() bool {
	switch {
	case p.script.SignedOut, p.script.Lapses && p.asked() > 0:
		fmt.Fprintln(p.log, `W1 browser.go:258] token refresh failed: oauth2: "invalid_grant" "Bad Request"`)
	case p.script.Offline:
		fmt.Fprintln(p.log, `W1 browser.go:256] token refresh failed due to network error: Post "https://oauth2.example/token": connection refused`)
	case p.script.Mum:
	default:
		return false
	}
	p.say(`{"event":"result","result":{"conversation_id":"","status":"ERROR","response":"","error":"authentication failed or timed out","duration_seconds":0,"num_turns":0}}`)
	fmt.Fprintln(p.err, "Error: authentication required. Run 'agy' to log in, then retry.\nerror: authentication failed or timed out")
	return true
}

func (p *agyProcess) say(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
	_ = p.out.Flush()
}

func (p *agyProcess) kept() string {
	return filepath.Join(p.own, "antigravity-cli", "conversations", p.id+".db")
}

// serve takes one message a line until its input ends.
func (p *agyProcess) serve(in io.Reader) int {
	if p.refuses() {
		return 1
	}
	if p.script.Old != "" {
		fmt.Fprintf(p.log, "E1 log.go:398] agent executor error: model unreachable: RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in %s.\n", p.script.Old)
		return 0
	}
	p.id = p.flags["--conversation"]
	b, err := os.ReadFile(p.kept())
	switch {
	case p.id != "" && err != nil:
		fmt.Fprintf(p.err, "warning: conversation %q not found\n", p.id)
		fallthrough
	case p.id == "":
		p.id = fmt.Sprintf("00000000-0000-4000-8000-%012x", time.Now().UnixNano()&0xffffffffffff)
	default:
		_ = json.Unmarshal(b, &p.said)
	}
	resumed := p.said.Turns > 0
	mode := "request-review"
	if _, all := p.flags["--dangerously-skip-permissions"]; all {
		mode = "always-proceed"
	}
	p.say(`{"event":"init","conversation_id":%q,"init":{"cwd":%q,"tools":["run_command","view_file","write_to_file"],"permission_mode":%q}}`, p.id, p.dir, mode)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(in); ; {
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-stop:
			return 1
		case line, ok := <-lines:
			if !ok {
				return 0
			}
			code, over := p.answer(line, resumed, stop)
			if resumed = false; over {
				return code
			}
		}
	}
}

// asked counts the prompts of all its processes.
func (p *agyProcess) asked() (n int) {
	all, err := AgyWasAsked(filepath.Dir(p.own))
	if err != nil {
		return 0
	}
	for _, a := range all {
		if a.Prompt != "" {
			n++
		}
	}
	return n
}

// next is the turn that the script has at this place.
func (p *agyProcess) next() AgyTurn {
	if asked := p.asked(); asked > 0 && asked <= len(p.script.Turns) {
		return p.script.Turns[asked-1]
	}
	return AgyTurn{Text: "ok"}
}

func (p *agyProcess) step(state, kind, more string) {
	p.say(`{"event":"step_update","step_update":{"conversation_id":%q,"step_index":%d,"state":%q,"step_type":%q%s}}`, p.id, p.said.Step, state, kind, more)
	if state != "ACTIVE" {
		p.said.Step++
	}
}

// answer plays one turn. over is whether the process ends with it.
func (p *agyProcess) answer(line []byte, resumed bool, stop <-chan os.Signal) (code int, over bool) {
	var m struct {
		Event   string `json:"event"`
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	}
	if err := json.Unmarshal(line, &m); err != nil || m.Event != "user" {
		fmt.Fprintf(p.err, "warning: unknown event %q\n", m.Event)
		return 0, false
	}
	p.note(AgyAsked{Prompt: m.Message.Content})
	if _, plain := p.flags["--disable-slash-commands"]; strings.HasPrefix(m.Message.Content, "/") && !plain {
		p.result("", "ERROR", "it is answered by the CLI itself and is unavailable with --input-format stream-json")
		return 2, true
	}
	turn := p.next()
	p.said.Turns++
	p.ended = false
	defer p.keep()
	p.step("DONE", "user_input", "")
	if resumed {
		p.step("DONE", "system_message", `,"duration_seconds":0.0001`)
	}
	timeout := make(<-chan time.Time)
	if d, err := time.ParseDuration(p.flags["--print-timeout"]); err == nil && d > 0 {
		timeout = time.After(d)
	}
	if p.script.Touches != "" {
		_ = os.WriteFile(filepath.Join(p.dir, p.script.Touches), []byte("touched\n"), 0o600)
	}
	if turn.Odd {
		p.say(`{"event":"from_the_future","x":1}`)
	}
	if turn.Shell != "" && !p.command(turn.Shell, stop) {
		return 1, true
	}
	if turn.Write != "" && !p.ended {
		p.write(turn.Write)
	}
	switch {
	case p.ended:
		return 0, false
	case turn.Asks:
		p.step("DONE", "unknown", "")
	}
	if turn.Task {
		defer fmt.Fprintln(p.err, "terminating 1 background task(s) on exit")
	}
	if turn.Hang {
		if turn.Text != "" {
			p.step("ACTIVE", "agent_response", fmt.Sprintf(`,"text_delta":%q`, turn.Text))
		}
		select {
		case <-stop:
			p.result(turn.Text, "ERROR", "interrupted")
			return 1, true
		case <-timeout:
			fmt.Fprintf(p.err, "[agy] print timeout after %s with turn in progress; returning partial output\n", p.flags["--print-timeout"])
			p.result(turn.Text, "SUCCESS", "")
			return 0, true
		}
	}
	if e := turn.Error; e != nil {
		return p.fails(e), true
	}
	p.step("DONE", "agent_response", fmt.Sprintf(`,"text_delta":%q,"duration_seconds":0.01,"usage":{"input_tokens":900,"output_tokens":9,"thinking_tokens":0,"cache_read_tokens":0,"total_tokens":909}`, turn.Text))
	p.result(turn.Text, "SUCCESS", "")
	return 0, false
}

// fails ends the turn, and the process. The status of every later turn of the
// conversation repeats it.
func (p *agyProcess) fails(e *AgyError) int {
	p.said.Sticky = e.Text
	p.step("DONE", "error_message", "")
	p.result("", "ERROR", e.Text)
	if e.Mute {
		return 1
	}
	fmt.Fprintln(p.err, "error: "+e.Text)
	fmt.Fprintf(p.err, `AGY_ERROR: {"short_error":%q,"status":%q,"error_code":%d,"code_kind":%q,"retryable":true,"error_id":"00000000-0000-4000-8000-000000000001-1"}`+"\n", e.Short, e.Is, e.Code, e.Kind)
	return 3
}

// result ends a turn. Denials add up over a conversation, each kind once.
func (p *agyProcess) result(response, status, text string) {
	p.ended = true
	more := ""
	if status == "SUCCESS" && p.said.Sticky != "" {
		status, text = "ERROR", p.said.Sticky
	}
	if text != "" {
		more = fmt.Sprintf(`,"error":%q`, text)
	}
	if p.said.Denied {
		more += `,"denied_actions":[{"action":"command","display_name":"RunCommand"}]`
	}
	p.say(`{"event":"result","result":{"conversation_id":%q,"status":%q,"response":%q%s,"duration_seconds":1.2,"num_turns":%d,"usage":{"input_tokens":900,"output_tokens":9,"thinking_tokens":0,"cache_read_tokens":0,"total_tokens":909}}}`, p.id, status, response, more, p.said.Turns)
}

// denied plays what happens to a call that would need somebody's consent: it
// ends without a word, and so does the turn.
func (p *agyProcess) denied(info string) bool {
	if _, all := p.flags["--dangerously-skip-permissions"]; all {
		return false
	}
	p.said.Denied = true
	p.step("DONE", "tool", info)
	p.result("", "SUCCESS", "")
	fmt.Fprintln(p.err, `jetski: no output produced — a tool required the "command" permission that headless mode cannot prompt for, so it was auto-denied.`)
	return true
}

// command runs one, in a session of its own, as the program does. It reports
// whether the process lives on.
func (p *agyProcess) command(line string, stop <-chan os.Signal) bool {
	p.step("DONE", "agent_response", `,"usage":{"input_tokens":900,"output_tokens":9,"thinking_tokens":0,"cache_read_tokens":0,"total_tokens":909}`)
	info := fmt.Sprintf(`,"tool_name":"run_command","tool_info":{"name":"run_command","parameters":{"CommandLine":%q}`, line)
	p.step("ACTIVE", "tool", info+"}")
	if p.denied(info + "}") {
		return true
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.SysProcAttr = p.dir, &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		p.step("ERROR", "tool", info+fmt.Sprintf(`,"error":{"type":"TOOL_ERROR","message":%q}}`, err))
		return true
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
		// A command that failed is DONE as well: its exit code is told nowhere.
		p.step("DONE", "tool", info+fmt.Sprintf(`,"output":%q}`, said.String()))
		return true
	case <-stop:
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		p.result("", "ERROR", "interrupted")
		return false
	}
}

func (p *agyProcess) write(name string) {
	path := filepath.Join(p.dir, name)
	info := fmt.Sprintf(`,"tool_name":"write_to_file","tool_info":{"name":"write_to_file","parameters":{"TargetFile":%q}`, path)
	p.step("ACTIVE", "tool", info+"}")
	if p.denied(info + "}") {
		return
	}
	if err := os.WriteFile(path, []byte("written by agy\n"), 0o600); err != nil {
		p.step("ERROR", "tool", info+fmt.Sprintf(`,"error":{"type":"TOOL_ERROR","message":%q}}`, err))
		return
	}
	p.step("DONE", "tool", info+"}")
}

func (p *agyProcess) keep() {
	if b, err := json.Marshal(p.said); err == nil {
		_ = os.WriteFile(p.kept(), b, 0o600)
	}
}
