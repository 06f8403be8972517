package e2e

import (
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/geminisim"
)

// TestZombie: a process that stands still in the middle of an effect until another has taken the effect over, and then goes on
// as if nothing had been, cannot record its end: its fence is too low [S6]. The receiver gets the same bytes twice and does
// them once [K4].
func TestZombie(t *testing.T) {
	t.Parallel()
	f := newFleet(t, inFile(t), 2, geminisim.Config{Speed: 1000})
	entered, stopped, successor := make(chan string, 10), make(chan struct{}), make(chan struct{})
	f.receiver.hold = func(r *http.Request) bool {
		entered <- r.URL.Path[len(sinkPath):]
		// The first is answered while its process stands still; it goes on while the second is not.
		wait := map[string]chan struct{}{"1": stopped, "2": successor}[r.Header.Get("Opledger-Attempt")]
		select {
		case <-wait:
			return true
		case <-r.Context().Done():
			return false
		}
	}
	f.args = []string{"--schedule=false"} // a process that stood still in a commit would keep the file locked
	f.start()
	for _, i := range f.instances {
		f.within(time.Minute, "both instances are ready", func() bool { return i.process().url() != "" })
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
	zombie := f.find(<-entered)
	signal := func(s syscall.Signal) {
		if err := zombie.command.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	var status syscall.WaitStatus // the signal is under way: wait until every thread stands still
	if _, err := syscall.Wait4(zombie.command.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the zombie does not stand still: %v, %v", err, status)
	}
	close(stopped)
	var second string
	f.within(time.Minute, "the other process has taken the effect over", func() bool {
		for _, i := range f.instances {
			if p := i.process(); p != zombie { // nobody's schedule does it here
				call{what: "a pass", path: "/reconcile", status: 200}.make(t, p.url())
			}
		}
		select {
		case second = <-entered:
			return true
		default:
			return false
		}
	})
	signal(syscall.SIGCONT)
	f.within(10*time.Second, "the zombie has lost its lease", func() bool { return slices.Contains(zombie.about(name), "lease-lost") })
	if second == zombie.id {
		t.Errorf("%s took over from itself", second)
	}
	close(successor)
	f.within(time.Minute, "the effect is done", func() bool { return slices.Contains(f.find(second).about(name), "finished") })
	f.endGently()
	if slices.Contains(zombie.about(name), "finished") {
		t.Error("the zombie says that it finished")
	}
	if e := f.theEffect(operation.Key(name)); e.State != ledger.EffectDone || e.Attempts != 2 || e.Fence != 2 {
		t.Errorf("%+v", e)
	}
	problems, repeats := f.receiver.audit()
	for _, problem := range problems {
		t.Error(problem)
	}
	if repeats != 1 {
		t.Errorf("%d repeats", repeats)
	}
}
