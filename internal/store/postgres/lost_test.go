package postgres_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/pgtest"
	"github.com/paceline/paceline/internal/store/postgres"
)

// wire stands between a store and its database, and cuts connections where the
// test says so.
type wire struct {
	net.Listener
	to string

	mu  sync.Mutex
	cut cut
}

// cut is when a connection is cut, once.
type cut uint8

const (
	never cut = iota
	beforeCommit
	afterCommit // the database has committed, and nobody hears of it
	refusing    // and every new one, until it is never again
)

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w
}

func (w *wire) at(c cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = c
}

// due reports whether the connection that asks to commit is cut now, and how.
func (w *wire) due() cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.cut
	if c != refusing {
		w.cut = never
	}
	return c
}

func (w *wire) carry(client net.Conn) {
	defer client.Close()
	w.mu.Lock()
	gone := w.cut == refusing
	w.mu.Unlock()
	if gone {
		return
	}
	back, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer back.Close()
	var mute sync.Mutex // held while what the database says is kept back
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := back.Read(buf)
			mute.Lock()
			if n > 0 {
				client.Write(buf[:n])
			}
			mute.Unlock()
			if err != nil {
				client.Close()
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("commit\x00")) {
			switch w.due() {
			case never:
			case beforeCommit, refusing:
				return
			case afterCommit:
				mute.Lock()
				client.Close()
				mute.Unlock()
				back.Write(buf[:n])
				time.Sleep(50 * time.Millisecond) // let it be done; either way is held to the same
				return
			}
		}
		back.Write(buf[:n])
	}
}

func TestLostConnections(t *testing.T) {
	base := server.Database(t)
	server.Exec(t, `ALTER ROLE paceline PASSWORD 'wire'`)
	direct := server.TCP(base, pgtest.User, "wire")
	u, _ := url.Parse(direct)
	w := newWire(t, u.Host)
	u.Host = w.Addr().String()
	st := open(t, u.String(), postgres.Options{})
	fill(t, st, "t-1")
	told := int64(0)
	for name, tt := range map[string]struct {
		cut   cut
		tries int
	}{
		"A commit that was not answered, and happened, is not done again":        {afterCommit, 1},
		"A commit that never arrived is done again from the beginning":           {beforeCommit, 2},
		"A commit that was answered at once is done once (what the two compare)": {never, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			w.at(tt.cut)
			// An event's number is used once, so doing it again would fail; and an item
			// takes the next place, so doing it again would double it.
			told++
			err := st.InTx(t.Context(), func(tx *store.Tx) error {
				tries++
				if err := tx.AddItem(t.Context(), store.Item{Thread: "t-1", Kind: "text", At: at}); err != nil {
					return err
				}
				return tx.AddEvents(t.Context(), "t-1", []store.EventRow{{Seq: told, Epoch: 1, Body: []byte("{}")}})
			})
			if err != nil || tries != tt.tries {
				t.Errorf("%d tries, want %d: %v", tries, tt.tries, err)
			}
			if its, err := st.Items(t.Context(), "t-1", 0); err != nil || int64(len(its)) != told {
				t.Errorf("%d items, want %d: %v", len(its), told, err)
			}
		})
	}
	t.Run("A database that stays away ends in a clear error, and is of use when it is back", func(t *testing.T) {
		st := open(t, u.String(), postgres.Options{Outage: 300 * time.Millisecond})
		var heard []string
		st.OnAway(func(why error) { heard = append(heard, fmt.Sprint(why != nil)) })
		w.at(refusing)
		err := st.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.AddItem(t.Context(), store.Item{Thread: "t-1", Kind: "text", At: at})
		})
		kind(t, store.Lost, err)
		if st.Away().IsZero() {
			t.Error("nobody is told that it is away")
		}
		w.at(never)
		told++
		if err := st.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.AddItem(t.Context(), store.Item{Thread: "t-1", Kind: "text", At: at})
		}); err != nil {
			t.Error(err)
		}
		if its, err := st.Items(t.Context(), "t-1", 0); err != nil || int64(len(its)) != told {
			t.Errorf("%d items, want %d: %v", len(its), told, err)
		}
		if len(heard) != 2 || heard[0] != "true" || heard[1] != "false" {
			t.Errorf("that it went away and came back was told as %v", heard)
		}
		if !st.Away().IsZero() {
			t.Error("it is still called away")
		}
	})
}

func TestKilledDatabase(t *testing.T) {
	mortal := pgtest.Server{Durable: true}
	t.Cleanup(mortal.Stop)
	st := open(t, mortal.Database(t), postgres.Options{})
	fill(t, st, "t-1")
	const writers, each = 4, 25
	var wg sync.WaitGroup
	half := make(chan struct{})
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if w == 0 && i == each/2 {
					close(half)
				}
				err := st.InTx(t.Context(), func(tx *store.Tx) error {
					if err := tx.AddItem(t.Context(), store.Item{Thread: "t-1", Kind: "text", At: at}); err != nil {
						return err
					}
					_, err := tx.SQL().ExecContext(t.Context(), `INSERT INTO meta (key, value) VALUES ($1, 'x')`, strconv.Itoa(w*each+i))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	<-half
	mortal.Kill()
	ids, err := []paceline.ThreadID(nil), error(nil)
	wg.Go(func() { ids, err = st.Unsettled(t.Context()) }) // a read waits as well
	time.Sleep(200 * time.Millisecond)
	mortal.Start(t)
	wg.Wait()
	if err != nil || len(ids) != 1 {
		t.Errorf("a read in the outage: %v, %v", ids, err)
	}
	its, err := st.Items(t.Context(), "t-1", 0)
	if err != nil || len(its) != writers*each {
		t.Errorf("%d items of %d transactions: %v", len(its), writers*each, err)
	}
}
