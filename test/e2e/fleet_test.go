package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// A backend is where the ledger of a fleet is: all that a test of another store has to bring.
type backend struct {
	variables []string // what the processes are told of it
	store     func() ledger.Store
}

// newBackend makes a backend whose store the test, too, has open from its first use on until its
// end.
func newBackend(t *testing.T, open func(context.Context) (ledger.Store, error), variables ...string) backend {
	opened := sync.OnceValues(func() (ledger.Store, error) {
		store, err := open(context.WithoutCancel(t.Context()))
		if err == nil {
			t.Cleanup(func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		return store, err
	})
	return backend{variables: variables, store: func() ledger.Store {
		t.Helper()
		store, err := opened()
		if err != nil {
			t.Fatal(err)
		}
		return store
	}}
}

// inFile is one SQLite file.
func inFile(t *testing.T) backend { return inFolder(t, t.TempDir()) }

func inFolder(t *testing.T, dir string) backend {
	path := filepath.Join(dir, "ledger.db")
	return newBackend(t, func(ctx context.Context) (ledger.Store, error) {
		return sqlite.Open(ctx, path, time.Now)
	}, "OPLEDGER_STORE=sqlite:"+path)
}

// A fleet is some instances of `opledger serve` over one ledger, with a Gemini that delivers to
// whichever it hits, and a receiver of their effects. An instance that dies is started again at
// once.
type fleet struct {
	t         *testing.T
	backend   backend
	sim       *geminisim.Sim
	gemini    *httptest.Server
	sink      *httptest.Server
	front     *httptest.Server
	secret    string
	lease     time.Duration            // as the settings have it, where the ledger may be down
	settings  []string                 // variables beside those that every fleet needs
	own       func(id string) []string // and those that are a process's own; may be nil
	args      []string                 // of every process
	programs  func(id string) program  // that its processes are runs of; nil: those of the source as it is
	effect    string                   // more fields of the effect's YAML
	receiver  *receiver
	killer    *killer
	store     *storeDoor // where the processes reach their store; nil: they do so themselves
	instances []*instance

	mu        sync.Mutex
	random    *rand.Rand
	ending    bool
	downtimes []downtime // of the ledger, which the test made
}

// An instance is a place where one process runs at a time.
type instance struct {
	name string
	// function is the one that its processes serve, as deployed, and path what requests for it
	// begin with; both are empty for `opledger serve`, which has all four.
	function, path string
	spared         bool // never killed

	gone chan struct{} // closed when it is not started again; only the test's goroutine looks

	mu   sync.Mutex
	runs []*process
}

// newFleet makes what surrounds n instances. start starts them.
func newFleet(t *testing.T, b backend, n int, config geminisim.Config) *fleet {
	t.Helper()
	if err := dependOnSources(); err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, backend: b, random: rand.New(rand.NewPCG(config.Seed, 4))}
	f.killer = newKiller(f, config.Seed)
	f.receiver = newReceiver(f)
	f.sim = geminisim.New(config)
	f.gemini = httptest.NewServer(&geminiDoor{f})
	f.sink = httptest.NewServer(f.receiver)
	f.front = httptest.NewServer(newFront(f))
	for i := range n {
		f.instances = append(f.instances, &instance{name: string(rune('a' + i))})
	}
	t.Cleanup(func() {
		f.end()
		f.sim.Close()
		for _, server := range []*httptest.Server{f.front, f.sink, f.gemini} {
			server.Close()
		}
		client.CloseIdleConnections()
	})
	f.secret = f.createWebhook()
	return f
}

// start starts every instance; those of a fleet that was ended before must have ended.
func (f *fleet) start() {
	f.mu.Lock()
	f.ending = false
	f.mu.Unlock()
	for _, i := range f.instances {
		f.run(i)
		gone := make(chan struct{})
		i.gone = gone
		go func() {
			defer close(gone)
			f.keep(i)
		}()
	}
}

// run starts the instance's next process.
func (f *fleet) run(i *instance) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := fmt.Sprintf("%s%d", i.name, len(i.runs)+1)
	p, err := f.startOne(i, id)
	if err != nil {
		f.t.Errorf("starting %s: %v", id, err)
		return
	}
	i.runs = append(i.runs, p)
}

func (f *fleet) startOne(i *instance, id string) (*process, error) {
	switch variables := f.variables(id); {
	case f.programs != nil:
		return f.programs(id).start(f.t, id, i.function, variables)
	case i.function == "":
		return startProcess(f.t, id, variables, f.args...)
	default:
		return startFunction(f.t, id, i.function, variables)
	}
}

// variables is the environment of a process: short durations, and its own name in whatever it calls.
func (f *fleet) variables(id string) []string {
	variables := []string{
		"OPLEDGER_WEBHOOK_SECRET=" + f.secret,
		"GEMINI_API_KEY=" + id,
		"GOOGLE_GEMINI_BASE_URL=" + f.gemini.URL,
		"OPLEDGER_GRACE=500ms", "OPLEDGER_INTERVAL=1s", "OPLEDGER_CLAIM_TTL=3s", "OPLEDGER_MAX_ATTEMPTS=50",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, do: http, url: %q, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED]%s}]",
			f.sink.URL+sinkPath+id, f.effect),
	}
	variables = slices.Concat(variables, f.backend.variables, f.settings)
	if f.own != nil {
		variables = append(variables, f.own(id)...)
	}
	return variables
}

// keep starts the instance again whenever it was killed, or met a full disk as it started.
func (f *fleet) keep(i *instance) {
	for {
		p := i.process()
		<-p.done
		f.mu.Lock()
		ending := f.ending
		f.mu.Unlock()
		if ending {
			return
		}
		if !p.wasKilled() && !p.leftGently() && !p.refusedByDisk() {
			f.t.Errorf("%s ended by itself: %v\n%s", p.id, p.err, p.tail())
			return
		}
		f.run(i)
	}
}

// ledger is what the processes share, as a test reads it.
func (f *fleet) ledger() *ledger.Ledger {
	f.t.Helper()
	l, err := ledger.New(f.backend.store(), ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// end kills what is left.
func (f *fleet) end() {
	f.killer.rest()
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	for _, i := range f.instances {
		if p := i.process(); p != nil {
			p.kill()
			<-i.gone
		}
	}
}

func (i *instance) process() *process {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.runs) == 0 {
		return nil
	}
	return i.runs[len(i.runs)-1]
}

func (f *fleet) processes() (all []*process) {
	for _, i := range f.instances {
		i.mu.Lock()
		all = append(all, i.runs...)
		i.mu.Unlock()
	}
	return all
}

func (f *fleet) find(id string) *process {
	for _, p := range f.processes() {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (f *fleet) kill(id string) bool {
	for _, i := range f.instances {
		if i.spared && i.name == id[:len(i.name)] {
			return false
		}
	}
	return f.find(id).kill()
}

func (f *fleet) isDead(id string) bool { return f.find(id).wasKilled() }

// pick chooses an instance that serves path at random, whether or not it lives.
func (f *fleet) pick(path string) *process {
	var serving []*instance
	for _, i := range f.instances {
		if strings.HasPrefix(path, i.path) {
			serving = append(serving, i)
		}
	}
	f.mu.Lock()
	i := serving[f.random.IntN(len(serving))]
	f.mu.Unlock()
	return i.process()
}
