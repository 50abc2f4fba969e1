package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// maxPrompt is the longest prompt that is taken, in bytes. The largest context
// that an engine offers holds about a million tokens, some four of these.
const maxPrompt = 4 << 20

// readPrompt takes the prompt from the command line, or from stdin where it is
// "-" or missing and stdin is not a terminal.
func readPrompt(arg string, given bool, in io.Reader) (string, error) {
	text := arg
	if arg == "-" || !given {
		if !given && terminal(in) {
			return "", usage("no prompt was given", `write it behind the command: paceline run "fix the failing test"`)
		}
		b, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
		if err != nil {
			return "", fmt.Errorf("read the prompt from stdin: %w", err)
		}
		text = string(b)
	}
	return text, checkPrompt(text)
}

// checkPrompt refuses what no engine could take as a prompt.
func checkPrompt(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return usage("the prompt is empty", `write it behind the command, or pipe it in: paceline run - < task.md`)
	case len(text) > maxPrompt:
		return usage(fmt.Sprintf("the prompt is longer than %d MB, more than any engine can hold", maxPrompt>>20),
			"put it into a file in the tree, and name the file in a short prompt")
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return usage(fmt.Sprintf("the prompt is not text: byte %d is not UTF-8", i+1), "convert it first, for instance with iconv")
			}
		}
		if r == 0 {
			return usage(fmt.Sprintf("the prompt is not text: byte %d is zero", i+1), "name the file in the prompt instead of sending its bytes")
		}
	}
	return nil
}

// terminal reports whether a stream is one.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull && isatty(f)
}

// workDir is where a run works: absolute, there, and writable where the mode
// writes.
func workDir(cd string, writes bool) (string, error) {
	dir := cd
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return "", usage("the working directory is gone", "change to one that exists, or name one with --cd")
		}
		dir = wd
	}
	dir, err := absolute(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", usage(dir+" does not exist", "make it first, or name another one with --cd")
	case err != nil:
		return "", usage(err.Error(), "name another directory with --cd")
	case !info.IsDir():
		return "", usage(dir+" is not a directory", "name a directory with --cd")
	}
	if writes {
		f, err := os.CreateTemp(dir, ".paceline-*")
		if err != nil {
			return "", usage(dir+" cannot be written to", "run with --mode read, or name another directory with --cd")
		}
		f.Close()
		if err := os.Remove(f.Name()); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// printable keeps control characters of foreign text off a terminal.
func printable(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, []byte(s)))
}
