package trial

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// TestLocalHarsh: a run under the worst faults keeps every promise, and the faults did occur.
func TestLocalHarsh(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	s, err := localFlags{}.runLocal(t.Context(), terminal.Environment{Out: io.Discard}, local.Options{
		Operations: 60, Seed: 1, Faults: "harsh", Speed: 800,
		View: &local.Table{W: &screen, Rows: 10, Size: func() (int, int) { return 40, 8 }},
	}, nil)
	if err != nil || !s.Clean() {
		t.Errorf("%+v, %v", s, err)
	}
	// Faults of the API are left out: many batches are found with one request, and so few may all
	// be spared.
	if s.DeliveriesLost == 0 || s.DeliveriesRepeated == 0 || s.DeliveriesLate == 0 || s.DeliveriesReordered == 0 ||
		s.DeliveriesRetried == 0 || s.DeployWindowHits == 0 || s.SettledByReconcile == 0 ||
		s.MessagesLost == 0 || s.MessagesRepeated == 0 || s.EffectsRefused == 0 || s.EffectAnswersLost == 0 ||
		s.EffectRepeatsKnown == 0 {
		t.Errorf("too kind a run: %+v", s)
	}
	if s.SettledByWebhook+s.SettledByReconcile != 60 || s.Operations != 60 || s.Seed != 1 {
		t.Errorf("%+v", s)
	}
	for line := range strings.Lines(screen.String()) {
		if n := len([]rune(strings.TrimSuffix(line[strings.LastIndex(line, "\x1b[2K")+4:], "\n"))); n > 39 {
			t.Errorf("a line of %d characters on a terminal of 40: %q", n, line)
		}
	}
	t.Logf("%+v", s)
}

// TestLocalEndsWithItsContext: an interrupted run returns an error, and leaves no goroutine behind.
func TestLocalEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	began := viewFunc(func(p local.Progress) {
		if p.Submitted > 0 {
			cancel()
		}
	})
	options := local.Options{Operations: 20, Faults: "none", Speed: 10, View: began}
	if s, err := (localFlags{}).runLocal(ctx, terminal.Environment{Out: io.Discard}, options, nil); err == nil {
		t.Errorf("%+v", s)
	}
}

// TestLocalClosesItsPort: a run that fails before its functions are served leaves their port
// closed.
func TestLocalClosesItsPort(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	options := local.Options{Faults: "mild", View: &local.Lines{W: &out}}
	if _, err := (localFlags{}).runLocal(t.Context(), terminal.Environment{Out: &out}, options, nil); err == nil {
		t.Fatal("there are no mild faults")
	}
	address, ok := strings.CutPrefix(strings.TrimSpace(out.String()), "watch it in a browser: http://")
	if !ok {
		t.Fatalf("it does not say where it is: %q", &out)
	}
	connection, err := net.Dial("tcp", address)
	if err == nil {
		t.Errorf("%s answers", connection.RemoteAddr())
		_ = connection.Close()
	}
}

type viewFunc func(local.Progress)

func (f viewFunc) Show(p local.Progress) { f(p) }
func (viewFunc) End()                    {}
