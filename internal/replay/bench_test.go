package replay

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/wire"
)

// BenchmarkFrames reads the recorded streams of a harness, and tells how fast
// as a share of reading the same lines and looking at none of them.
func BenchmarkFrames(b *testing.B) {
	for _, harness := range []string{"claude", "codex", "gemini", "opencode", "qwen"} {
		dir := filepath.Join("testdata", harness)
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.Join("testdata", "other", harness)
		}
		b.Run(harness, func(b *testing.B) {
			paths, err := Files([]string{dir})
			if err != nil {
				b.Fatal(err)
			}
			frames, size := 0, 0
			var decoding, reading time.Duration
			for b.Loop() {
				start := time.Now()
				for _, p := range paths {
					if err := Each(harness, p, func(wire.Event) {}); err != nil {
						b.Fatal(err)
					}
				}
				decoding += time.Since(start)
				start = time.Now()
				frames, size = 0, 0
				for _, p := range paths {
					n, bytes := lines(b, p)
					frames, size = frames+n, size+bytes
				}
				reading += time.Since(start)
			}
			b.ReportMetric(float64(reading)/float64(decoding), "of-reading")
			b.ReportMetric(float64(frames*b.N)/decoding.Seconds(), "frames/s")
			b.ReportMetric(float64(size*b.N)/1e6/decoding.Seconds(), "MB/s")
		})
	}
}

func lines(tb testing.TB, path string) (n, bytes int) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := wire.ReadLine(in)
		if n++; errors.Is(err, io.EOF) {
			return n, bytes + len(line)
		}
		bytes += len(line)
	}
}
