package linearizability

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// workerVariable is the environment variable that makes the test's own program a worker: its value
// is an assignment.
const workerVariable = "OPLEDGER_LINEARIZABILITY_WORKER"

// An assignment is what a worker is told when it starts.
type assignment struct {
	File              string // of the SQLite store; empty: Firestore
	Emulator, Project string // of the Firestore store
	Broken            string // the guard that is taken out, one of the constants in broken.go; empty: none
	First, Clients    int    // the number of its first client, and how many it has
	Seed              uint64
	Epoch             int64 // the time of the SQLite store when clock() is 0, in nanoseconds of Unix time
}

// A round is a line on a worker's stdin. The worker answers it with a line on stdout when its
// clients have made all their calls.
type round struct {
	History string // the file to write
	Keys    []string
	Calls   int // of each client
	// DieAt is the number of the commit at which the process kills itself; 0: at none. DieWithin is
	// how long after the commit's begin at most.
	DieAt     int64
	DieWithin time.Duration
}

// now is the time of the SQLite store. No one sets it, so that a lease lasts as long as the
// histories say.
func (a assignment) now() time.Time { return time.Unix(0, a.Epoch+clock()) }

func (a assignment) open(ctx context.Context) (ledger.Store, error) {
	if a.File != "" {
		return sqlite.Open(ctx, a.File, a.now)
	}
	return firestore.Open(ctx, a.Project, "", dial.Options(a.Emulator)...)
}

// work is what a worker's process runs. It ends when in does.
func work(ctx context.Context, assigned string, in io.Reader, out io.Writer) (err error) {
	var a assignment
	if err := json.Unmarshal([]byte(assigned), &a); err != nil {
		return fmt.Errorf("reading the assignment %q: %w", assigned, err)
	}
	opened, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	mortal := &mortal{Store: opened}
	store := breakGuard(mortal, a.Broken)
	clients := make([]*client, a.Clients)
	for i := range clients {
		if clients[i], err = newClient(a.First+i, store, a.Seed, time.Unix(0, a.Epoch)); err != nil {
			return err
		}
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var r round
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("reading the round %q: %w", lines.Text(), err)
		}
		mortal.next(r)
		if err := r.play(ctx, clients); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, r.History); err != nil {
			return err
		}
	}
	return nil
}

func (r round) play(ctx context.Context, clients []*client) error {
	h, err := newHistory(r.History)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.round(ctx, h, r.Keys, r.Calls) })
	}
	all.Wait()
	return h.close()
}

// A mortal is a store whose process dies at one of its commits. One commit in four comes late, so
// that what was read before it is often out of date.
type mortal struct {
	ledger.Store
	commits, dieAt atomic.Int64
	within         atomic.Int64
}

func (m *mortal) next(r round) {
	m.commits.Store(0)
	m.dieAt.Store(r.DieAt)
	m.within.Store(int64(r.DieWithin))
}

// Commit is the store's. The process dies before, in or after the one at which it is to die.
func (m *mortal) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if m.commits.Add(1) == m.dieAt.Load() {
		go func() {
			<-time.After(time.Duration(rand.Int64N(m.within.Load())))
			die()
		}()
	}
	if rand.IntN(4) == 0 {
		<-time.After(rand.N(tick))
	}
	return m.Store.Commit(ctx, writes...)
}

// die ends the process as the operating system would: nothing is flushed, nothing is closed.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
