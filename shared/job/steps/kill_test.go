package steps_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/harness"
)

var errKilled = errors.New("the process was killed")

// A killer ends a process at one of its calls to the outside: a commit, a change of job storage or a request
// to Gemini.
type killer struct {
	mu    sync.Mutex
	calls int
	first int  // the call at which a process ends
	every int  // and again after so many
	after bool // the call took effect
	dead  bool
	end   context.CancelFunc // ends what waits in the process
}

// point makes a call, unless the process has ended.
func (k *killer) point(call func() error) error {
	ends, err := k.next()
	if err != nil {
		return err
	}
	if !ends {
		return call()
	}
	if k.after {
		_ = call() // no process is there to see it
	}
	return errKilled
}

// next counts a call, and reports whether the process ends with it.
func (k *killer) next() (ends bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return false, errKilled
	}
	k.calls++
	if k.dead = k.calls >= k.first && (k.calls-k.first)%k.every == 0; k.dead {
		k.end()
	}
	return k.dead, nil
}

// alive returns an error where the process has ended.
func (k *killer) alive() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errKilled
	}
	return nil
}

// begin returns the context of a process.
func (k *killer) begin(ctx context.Context) context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, k.end = context.WithCancel(ctx)
	k.dead = false
	return ctx
}

type killedStore struct {
	ledger.Store
	*killer
}

func (s killedStore) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if err := s.alive(); err != nil {
		return ledger.Snapshot{}, err
	}
	return s.Store.Get(ctx, paths...)
}

func (s killedStore) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.Store.Query(ctx, q)
}

func (s killedStore) Commit(ctx context.Context, writes ...ledger.Write) (tokens []ledger.Token, err error) {
	err = s.point(func() (err error) {
		tokens, err = s.Store.Commit(ctx, writes...)
		return err
	})
	return tokens, err
}

type killedStorage struct {
	storage.Storage
	*killer
}

func (s killedStorage) String() string { return s.Storage.String() }

func (s killedStorage) Create(ctx context.Context, name string, content io.Reader) (o storage.Object, err error) {
	err = s.point(func() (err error) {
		o, err = s.Storage.Create(ctx, name, content)
		return err
	})
	return o, err
}

func (s killedStorage) Compose(ctx context.Context, name string, of []storage.Object) (o storage.Object, err error) {
	err = s.point(func() (err error) {
		o, err = s.Storage.Compose(ctx, name, of)
		return err
	})
	return o, err
}

type killedTransport struct {
	http.RoundTripper
	*killer
}

func (t killedTransport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	err = t.point(func() (err error) {
		answer, err = t.RoundTripper.RoundTrip(r)
		return err
	})
	if err != nil && answer != nil {
		_ = answer.Body.Close() // it is not read
		return nil, err
	}
	return answer, err
}

// killed is a world whose workers end as k says.
func killed(t *testing.T, k *killer, config geminisim.Config) *world {
	t.Helper()
	w := newWorld(t, setting{
		sim:       config,
		storage:   func(s storage.Storage) storage.Storage { return killedStorage{s, k} },
		transport: func(r http.RoundTripper) http.RoundTripper { return killedTransport{r, k} },
		worker:    func(s ledger.Store) ledger.Store { return killedStore{s, k} },
		options:   func(o steps.Options) steps.Options { return o.InChunks(1) },
	})
	w.killer = k
	return w
}

// TestKilledAtEveryPoint: processes end at any of their calls, before or after that took effect, and their
// successors do the rest: nothing is lost, doubled, sent too often or done twice [J2, J3, J4, J5, J7, J8].
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	// A step makes fewer calls than there are between two ends. In the longest run a job meets one end alone.
	every := harness.Soak(t, 23, 19, 1000)
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after=%v", after), func(t *testing.T) {
			t.Parallel()
			for first := 1; first <= every; first++ {
				k := &killer{first: first, every: every, after: after}
				w := killed(t, k, geminisim.Config{
					Seed: 7, Poison: "About k0002", Faults: geminisim.Faults{MissingLines: 0.3, DoubledLines: 0.3, RefusedItems: 0.1},
				})
				w.submit(requests(6), job.Options{MaxAttempts: 2, MaxRequestsPerBatch: 3})
				w.settle()
				if w.ended(); t.Failed() {
					t.Fatalf("ended at call %d and every %d after that", first, every)
				}
				if k.calls < first {
					return
				}
			}
		})
	}
}

// TestLostAnswers: answers of the ledger and of Gemini are lost, and creations are carried out twice, as where
// a proxy repeats them. No process dies of that, and each request has one line [J2, J3, J7].
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for seed := range harness.Soak(t, uint64(3), 20, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			commits := uint64(0)
			w := newWorld(t, setting{
				sim: geminisim.Config{Seed: seed, Faults: geminisim.Faults{
					CreatesLost: 0.3, CreatesTwice: 0.3, APIErrors: 0.1, MissingLines: 0.1, Cut: 0.2, Shuffled: 0.5,
				}},
				worker: func(s ledger.Store) ledger.Store {
					return ledgertest.InjectFunc(s, func() ledgertest.Fault {
						if commits++; commits%5 != seed%5 {
							return ledgertest.None
						}
						return []ledgertest.Fault{ledgertest.LoseAnswer, ledgertest.Abort, ledgertest.RepeatItself}[commits/5%3]
					})
				},
			})
			w.submit(requests(40), job.Options{MaxRequestsPerBatch: 5, MaxAttempts: 2})
			w.settle()
			w.ended()
		})
	}
}
