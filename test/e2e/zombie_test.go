package e2e

import (
	"database/sql"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// standBetweenCommits stops a process that is in no commit on SQLite: one that stood still in the middle
// of one would keep the file locked.
func (f *fleet) standBetweenCommits(p *process) {
	f.t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(f.backend.variables[0], "OPLEDGER_STORE=sqlite:"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	f.within(patience, "the process stands between two commits", func() bool {
		standStill(f.t, p)
		if _, err := db.ExecContext(f.t.Context(), "BEGIN IMMEDIATE; ROLLBACK"); err == nil {
			return true
		}
		signal(f.t, p, syscall.SIGCONT)
		return false
	})
}

// TestZombie: a process that stands still in the middle of an effect until another has taken the
// effect over, and then goes on as if nothing had been, cannot record its end: its fence is too low
// [S6]. The receiver gets the same bytes twice and does them once [K4].
func TestZombie(t *testing.T) {
	t.Parallel()
	f := newFleet(t, inFile(t), 2, geminisim.Config{Speed: 1000})
	relay := newRelay()
	f.receiver.hold = relay.hold
	f.args = []string{"--schedule=false"} // the test says when a pass is made
	f.start()
	for _, i := range f.instances {
		f.within(patience, "both instances are ready", func() bool { return i.process().url() != "" })
	}
	f.sim.Script("job", geminisim.Script{Hold: geminisim.StateRunning})
	name, err := f.submit("job")
	if err == nil {
		err = f.register(name)
	}
	if err == nil {
		err = f.sim.SetState("job", geminisim.StateSucceeded)
	}
	if err != nil {
		t.Fatal(err)
	}
	zombie := f.find(<-relay.entered)
	f.standBetweenCommits(zombie)
	close(relay.stopped)
	var second string
	f.within(patience, "the other process has taken the effect over", func() bool {
		for _, i := range f.instances {
			if p := i.process(); p != zombie { // no schedule does it here
				call{what: "a pass", path: "/reconcile", status: 200}.make(t, p.url())
			}
		}
		select {
		case second = <-relay.entered:
			return true
		default:
			return false
		}
	})
	signal(t, zombie, syscall.SIGCONT)
	f.within(patience, "the zombie has lost its lease",
		func() bool { return slices.Contains(zombie.about(name), "lease-lost") })
	if second == zombie.id {
		t.Errorf("%s took over from itself", second)
	}
	close(relay.successor)
	f.within(patience, "the effect is done",
		func() bool { return slices.Contains(f.find(second).about(name), "finished") })
	f.endGently()
	if slices.Contains(zombie.about(name), "finished") {
		t.Error("the zombie says that it finished")
	}
	if e := f.theEffect(operation.Key(name)); e.State != ledger.EffectDone || e.Attempts != 2 || e.Fence != 2 {
		t.Errorf("%+v", e)
	}
	problems, repeats, _ := f.receiver.audit()
	for _, problem := range problems {
		t.Error(problem)
	}
	if repeats != 1 {
		t.Errorf("%d repeats", repeats)
	}
}

// A relay holds up the requests of an effect's first two attempts. The first is answered while its
// process stands still; it goes on while the second is not.
type relay struct {
	entered            chan string // the processes, as they come
	stopped, successor chan struct{}
}

func newRelay() *relay {
	return &relay{entered: make(chan string, 10), stopped: make(chan struct{}), successor: make(chan struct{})}
}

func (r *relay) hold(request *http.Request) bool {
	r.entered <- request.URL.Path[len(sinkPath):]
	wait := map[string]chan struct{}{"1": r.stopped, "2": r.successor}[request.Header.Get("Opledger-Attempt")]
	select {
	case <-wait:
		return true
	case <-request.Context().Done():
		return false
	}
}

func signal(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

// standStill stops a process. It returns when every thread stands still.
func standStill(t *testing.T, p *process) {
	t.Helper()
	signal(t, p, syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.command.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil ||
		!status.Stopped() {
		t.Fatalf("%s does not stand still: %v, %v", p.id, err, status)
	}
}
