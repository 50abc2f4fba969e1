package cli

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
)

type initOptions struct {
	*streams
	service bool
}

func newInit(s *streams) *cobra.Command {
	o := &initOptions{streams: s}
	c := &cobra.Command{
		Use: "init", Short: "Write a first configuration: a chain of what is installed and signed in",
		Long: `Write a first configuration: a chain of what is installed and signed in.

An engine that stands in a chain may be sent your prompts and files. A file that
is there already is left as it is. With --service a unit for systemd (Linux) or
launchd (macOS) is written as well, so that waiting work goes on after a logout or
a reboot.`,
		Args: args(cobra.NoArgs, "`paceline init` takes none"),
		RunE: func(c *cobra.Command, _ []string) error { return initRun(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.service, "service", false, "write a unit for the service manager, too")
	return c
}

func initRun(ctx context.Context, o *initOptions) error {
	home := harness.Environment(o.environ).Get("HOME")
	path := config.Find(o.environ, home, "").UserFile
	if path == "" {
		return usage("neither HOME nor PACELINE_CONFIG says where to keep the configuration", "set one of them")
	}
	if err := o.configure(ctx, path); err != nil {
		return err
	}
	if o.service {
		return o.unit(home)
	}
	return nil
}

// configure writes the file, unless there is one.
func (o *initOptions) configure(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); err == nil {
		fmt.Fprintf(o.out, "%s is there already and is left as it is; `paceline config show` reads it\n", tilde(path, o.environ))
		return nil
	}
	policy, _, err := config.Load(config.Sources{})
	if err != nil {
		return err
	}
	var ready, names []string
	for _, a := range (&doctorOptions{streams: o.streams}).ask(ctx, policy) {
		if a.Ready {
			ready, names = append(ready, a.Account), append(names, fmt.Sprintf("%q", a.Account))
			continue
		}
		fmt.Fprintf(o.err, "%s is left out: %s\n", a.Account, a.Lacks)
	}
	var more strings.Builder
	for _, name := range undeclared(o.streams, policy) {
		fmt.Fprintf(o.err, "%s is left out: whose money it spends is yours to say. %s\n", name, declare(name))
		fmt.Fprintf(&more, "\n# [accounts.%s]\n# harness = %q\n# posture = \"subscription\" # or \"metered\", or \"local\"\n", name, name)
	}
	if len(ready) == 0 {
		return &UserError{Msg: "no engine is ready, so there is nothing to write down", Hint: "`paceline doctor` says what each one lacks", Code: exitSignIn}
	}
	text := fmt.Sprintf(`# Paceline's configuration; `+"`paceline config show`"+` prints every key with its value.

[chain]
# Who may serve a new thread, in this order. Standing here is consent to send an
# engine what the thread is about. A run on one engine: paceline run -e claude
default = [%s]
`, strings.Join(names, ", "))
	if more.Len() > 0 {
		text += "\n# These are installed, too. Without their \"# \", and named in the chain above, they\n# serve as well." + more.String()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := create(path, text); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "wrote %s: a run goes to %s\n", tilde(path, o.environ), strings.Join(ready, ", and on to "))
	if len(ready) == 1 {
		fmt.Fprintln(o.err, "With one engine there is nowhere to go on at its limit. Install and sign in another one, then add it to the chain.")
	}
	return nil
}

// create writes a file that must not be there yet.
func create(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &UserError{Msg: path + " is there already", Hint: "move it away to have it written anew", Code: exitFailed}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// unit writes what the machine's service manager starts.
func (o *initOptions) unit(home string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own binary: %w", err)
	}
	path, text, next := systemd(home, self)
	if runtime.GOOS == "darwin" {
		path, text, next = launchd(home, self)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the unit: %w", err)
	}
	if err := create(path, text); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "wrote %s; start it with: %s\n", tilde(path, o.environ), next)
	return nil
}

func systemd(home, self string) (path, text, next string) {
	return filepath.Join(home, ".config", "systemd", "user", "paceline.service"),
		fmt.Sprintf(`[Unit]
Description=Paceline keeps coding agents' work going

[Service]
ExecStart=%s serve
Restart=on-failure
# Its runs end by themselves, with everything that they started.
KillMode=mixed
TimeoutStopSec=90

[Install]
WantedBy=default.target
`, strings.NewReplacer(`\`, `\\`, ` `, `\x20`, `%`, `%%`).Replace(self)),
		"systemctl --user enable --now paceline && loginctl enable-linger"
}

func launchd(home, self string) (path, text, next string) {
	path = filepath.Join(home, "Library", "LaunchAgents", "dev.paceline.server.plist")
	var bin strings.Builder
	_ = xml.EscapeText(&bin, []byte(self)) // a strings.Builder takes everything
	return path, fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>dev.paceline.server</string>
	<key>ProgramArguments</key><array><string>%s</string><string>serve</string></array>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
`, bin.String()), "launchctl bootstrap gui/$(id -u) " + path
}
