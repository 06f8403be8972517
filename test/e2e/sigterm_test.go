package e2e

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// inEffect starts one instance and returns when it is in the middle of an effect: the receiver has
// the request and does not answer before answer is closed.
func inEffect(t *testing.T, effect string) (f *fleet, key operation.Key, answer chan struct{}) {
	t.Helper()
	f = newFleet(t, inFile(t), 1, geminisim.Config{Speed: 1000})
	f.effect = effect
	entered := make(chan struct{}, 100)
	answer = make(chan struct{})
	f.receiver.hold = func(r *http.Request) bool {
		entered <- struct{}{}
		select {
		case <-answer:
			return true
		case <-r.Context().Done():
			return false
		}
	}
	f.start()
	f.within(patience, "the instance is ready", func() bool { return f.instances[0].process().url() != "" })
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
	select {
	case <-entered:
	case <-time.After(patience):
		t.Fatalf("the effect never began: %s", f.instances[0].process().tail())
	}
	return f, operation.Key(name), answer
}

// theEffect reads the operation's one effect from the ledger.
func (f *fleet) theEffect(key operation.Key) ledger.Effect {
	f.t.Helper()
	story, err := f.ledger().Operations.Show(f.t.Context(), key)
	if err != nil || len(story.Effects) != 1 {
		f.t.Fatalf("%+v, %v", story, err)
	}
	return story.Effects[0]
}

func terminate(t *testing.T, f *fleet) *process {
	t.Helper()
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	p := f.instances[0].process()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// It takes nothing more at once, long before it ends.
	f.within(patience, "the port is closed", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.url(), "http://"))
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	return p
}

func wantExit0(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if p.err != nil {
		t.Errorf("SIGTERM ended it with %v:\n%s", p.err, p.tail())
	}
}

// TestSIGTERMFinishesTheEffect: what is in progress when SIGTERM comes is finished and recorded; then it exits with 0.
func TestSIGTERMFinishesTheEffect(t *testing.T) {
	t.Parallel()
	f, key, answer := inEffect(t, "")
	p := terminate(t, f)
	select {
	case <-p.done:
		t.Fatalf("it did not wait for the effect: %v", p.err)
	default:
	}
	close(answer)
	wantExit0(t, p)
	if e := f.theEffect(key); e.State != ledger.EffectDone || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
}

// TestSIGTERMReleasesTheEffect: an effect that fails while the process ends is given back at once,
// not left claimed until its lease ends [S4], and the next process does it.
func TestSIGTERMReleasesTheEffect(t *testing.T) {
	t.Parallel()
	f, key, answer := inEffect(t, ", timeout: 2s")
	p := terminate(t, f)
	wantExit0(t, p)
	if e := f.theEffect(key); e.State != ledger.EffectPending || e.Attempts != 1 || e.LastError == "" {
		t.Errorf("%+v", e)
	}
	close(answer)
	<-f.instances[0].gone
	f.start()
	f.within(patience, "the next process has done the effect",
		func() bool { return f.theEffect(key).State == ledger.EffectDone })
	if e := f.theEffect(key); e.Attempts != 2 {
		t.Errorf("%+v", e)
	}
	if n := len(f.receiver.keys()); n != 1 {
		t.Errorf("%d keys accepted", n)
	}
}
