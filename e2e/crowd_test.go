package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestCrowd(t *testing.T) {
	t.Run("Fifty threads and four clients: nobody waits for the slow one, who misses nothing", func(t *testing.T) {
		const threads, deltas = 50, 400
		b := serverBed(t, fakeapi.Script{})
		bin := filepath.Join(b.dir, "bin")
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := fakeapi.StandInAs(bin, self, "stand-in", fmt.Sprint(deltas)); err != nil {
			t.Fatal(err)
		}
		b.env = append(b.env, "PATH="+bin+":"+os.Getenv("PATH"))
		ids := make([]string, threads)
		var group sync.WaitGroup
		for i := range ids {
			group.Go(func() {
				ids[i] = strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", "count").out)
			})
		}
		// The slow one reads a line now and then, of a thread that says most.
		group.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		slow, _, _ := b.command(ctx, "attach", ids[0], "--json")
		slow.Stdout = nil
		pipe, err := slow.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := slow.Start(); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			group.Go(func() {
				if r := b.want(0, "attach", ids[i]); strings.TrimSpace(r.out) != numbers(deltas) {
					t.Errorf("client %d heard %d bytes", i, len(r.out))
				}
			})
		}
		group.Wait()
		for _, id := range ids {
			b.want(0, "attach", id)
		}
		// All is over, and the slow one has hardly begun.
		var heard strings.Builder
		lines := bufio.NewScanner(pipe)
		seq := map[string]bool{}
		for n := 0; lines.Scan(); n++ {
			if n%50 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			var e told
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			if seq[e.Offset] {
				t.Fatalf("%s was told twice", e.Offset)
			}
			seq[e.Offset] = true
			if e.Event == "text" {
				heard.WriteString(e.Text)
			}
		}
		if err := slow.Wait(); err != nil {
			t.Error(err)
		}
		if strings.TrimSpace(heard.String()) != numbers(deltas) {
			t.Errorf("the slow client heard %d bytes", heard.Len())
		}
	})
}

// numbers is what the stand-in says.
func numbers(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint(i)
	}
	return strings.Join(words, " ")
}
