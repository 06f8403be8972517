package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
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
		code := run(ctx, []string{"webhook", command}, environment{variables: w.variables, out: &strings.Builder{},
			err: &strings.Builder{}})
		if code != exitDone || ctx.Err() == nil {
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
	do := func(args ...string) said {
		var err strings.Builder
		code := run(t.Context(), append([]string{"webhook"}, args...), environment{variables: variables, out: broken{},
			err: &err})
		return said{code: code, err: err.String()}
	}
	do("create", "--print-secret").want(t, exitFailed, "deleted again").complaint(t)
	if s := w.do("list"); s.out != "no webhooks\n" {
		t.Errorf("%s", s.out)
	}
	w.registerWebhook(hookURL)
	do("rotate", "--print-secret").want(t, exitFailed, "it was lost", "valid for 24 hours").complaint(t)
	do("rotate", "--print-secret", "--secret", hookSecret).want(t, exitFailed, "printing")
	w.wantStored(w.told()[len(w.told())-1])
}
