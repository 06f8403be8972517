package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestWebhookInterrupted: an interrupt after the request to Gemini loses no secret: it is stored.
func TestWebhookInterrupted(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	for _, command := range []string{"create", "rotate"} {
		ctx, interrupt := context.WithCancel(t.Context())
		w.mu.Lock()
		w.front = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				interrupt()
			}
			return false
		}
		w.mu.Unlock()
		code := root.Run(ctx, []string{"webhook", command},
			terminal.Environment{Variables: w.variables, Out: &strings.Builder{},
				Err: &strings.Builder{}})
		if code != terminal.ExitDone || ctx.Err() == nil {
			t.Errorf("%s: exit code %d, interrupted %v", command, code, ctx.Err())
		}
	}
	w.wantStored(w.told()[1], w.told()[0])
}

// broken is a terminal that has gone away.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("stdout is closed") }

// TestWebhookPrintFails: if printing was the only output and fails, the error says that the secret
// is lost, and what to do.
func TestWebhookPrintFails(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	variables := w.with("OPLEDGER_WEBHOOK_SECRET")
	do := func(args ...string) commandtest.Said {
		var err strings.Builder
		code := root.Run(t.Context(), append([]string{"webhook"}, args...),
			terminal.Environment{Variables: variables, Out: broken{},
				Err: &err})
		return commandtest.Said{Code: code, Err: err.String()}
	}
	do("create", "--print-secret").Want(t, terminal.ExitFailed, "deleted again").Complaint(t)
	if s := w.do("list"); s.Out != "no webhooks\n" {
		t.Errorf("%s", s.Out)
	}
	w.registerWebhook(hookURL)
	do("rotate", "--print-secret").Want(t, terminal.ExitFailed, "it was lost", "valid for 24 hours").Complaint(t)
	do("rotate", "--print-secret", "--secret", hookSecret).Want(t, terminal.ExitFailed, "printing")
	w.wantStored(w.told()[len(w.told())-1])
}
