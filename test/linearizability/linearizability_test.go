package linearizability

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	if assigned := os.Getenv(workerVariable); assigned != "" {
		if err := work(context.Background(), assigned, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	harness.AtOnce(4) // they wait for their workers, which mostly wait for leases to end
	code := harness.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestLinearizable: what three processes with three clients each are answered on one store could
// have been answered one call after the other [M6, M7, S3, S6, W4, W5], with one process killed in
// each round and one commit in twenty going wrong.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	for name, place := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, place(t), "")
			rounds := harness.Soak(t, 2, 20, 1500)
			for n := 0; n < rounds || n < 10*rounds && f.seen.tooKind() != ""; n++ {
				if !f.round() {
					return
				}
			}
			if missing := f.seen.tooKind(); missing != "" {
				t.Errorf("the histories prove too little: they have no %s", missing)
			}
			if f.seen.tooVague() {
				t.Errorf("the histories prove too little: %v", f.seen)
			}
			t.Logf("on %s: %v", name, f.seen)
		})
	}
}

// TestBrokenGuardsAreFound: where the store loses its preconditions, or one process has a clock
// that is ahead of the others', the histories show it within a few rounds.
func TestBrokenGuardsAreFound(t *testing.T) {
	t.Parallel()
	for _, guard := range []string{noPreconditions, fastClock} {
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, inFile(t), guard)
			const enough = 20
			for n := range enough {
				if !f.round() {
					t.Logf("on SQLite, with %s: found in round %d", guard, n+1)
					return
				}
			}
			t.Errorf("with %s every history of %d rounds is linearizable", guard, enough)
		})
	}
}

// stores are the places for a ledger, each empty.
var stores = map[string]func(*testing.T) assignment{"SQLite": inFile, "Firestore": inFirestore}

func inFile(t *testing.T) assignment {
	// The store's time begins at the present, which the retention of what is ingested rests on.
	return assignment{File: t.TempDir() + "/ledger.db", Epoch: time.Now().UnixNano() - clock()}
}

func inFirestore(t *testing.T) assignment {
	return assignment{
		Emulator: harness.Firestore(t), Project: harness.ProjectID(t), Epoch: time.Now().UnixNano() - clock(),
	}
}
