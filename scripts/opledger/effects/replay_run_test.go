package effects_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/effects"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// TestReplayMistyped: an effect that neither the ledger nor the settings have is refused if this
// process would run it; the error suggests a name [G5].
func TestReplayMistyped(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS=[{name: later, on: [SUCCEEDED], do: log}]"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{
			"lgo",
		}, `batches/a has no effect "lgo", nor does OPLEDGER_EFFECTS or --forward-to of serve name it; did you mean log?`},
		{[]string{"latre", "--dry-run"}, "did you mean later?"},
		{[]string{"strange"}, "; opledger show batches/a shows those it has"},
		{[]string{"lgo", "--rerun"}, `batches/a has no effect "lgo"; did you mean log?`},
	} {
		s := commandtest.Run(t, variables, append([]string{"replay", "batches/a", "--effect"}, c.args...)...).Want(t,
			terminal.ExitFailed, c.says)
		if s.Complaint(t); s.Out != "" {
			t.Errorf("%v: stdout %q", c.args, s.Out)
		}
	}
	if effects := f.Effects("batches/a"); len(effects) != 1 || len(effects["log"].Replays) != 0 {
		t.Errorf("%+v", effects)
	}
	// The deployed function may know it.
	var said bytes.Buffer
	outside := terminal.Environment{Variables: variables, Err: &said}
	if err := open.Change(t.Context(), outside, func(w open.Writer) error {
		return effects.CheckRule(t.Context(), outside, w, "batches/a", "lgo")
	}); err != nil || !strings.Contains(said.String(),
		"did you mean log?\nopledger: the deployed function may have that rule") {
		t.Errorf("%v: %s", err, said.String())
	}
	commandtest.Run(t, variables, "waive", "batches/a", "--effect", "lgo", "--reason", "r").Want(t, terminal.ExitFailed,
		`batches/a has no effect "lgo"; did you mean log?`).Complaint(t)
}

// TestReplayCounts: only effects with an attempt count as run, and only open ones run again by
// themselves.
func TestReplayCounts(t *testing.T) {
	t.Parallel()
	const again, settings = "the open ones run again when serve sweeps", "set OPLEDGER_EFFECTS to the value of the " +
		"functions"
	replay := func(f commandtest.File, ran, says, saysNot string, variables ...string) {
		t.Helper()
		args := []string{"replay", "--collection", "batches", "--yes", "--store", f.Store()}
		s := commandtest.Run(t, variables, args...).Want(t, terminal.ExitFailed, says)
		if !strings.Contains(s.Out, "\n"+ran+"\n") || strings.Contains(s.Err, saysNot) {
			t.Errorf("%s%s", s.Out, s.Err)
		}
	}
	early := commandtest.NewFile(t)
	early.Dead("batches/a", "batches/b")
	early.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Replay(ctx, ledger.Message{Operation: "batches/b", Effect: "log", ID: "m1"})
		if err != nil {
			return err
		}
		grant, err := l.Effects.Claim(ctx, "batches/b", "log")
		if err == nil {
			_, err = l.Effects.Release(ctx, grant.Lease, errors.New("down"), time.Hour)
		}
		return err
	})
	replay(early, "ran 1 of 2 effects of 2 operations, once each; the log says why the others did not run\n"+
		"1 done, 1 open still", again, settings)
	replay(early, "ran none of 1 effect of 1 operation; the log says why\n0 done, 1 open still", again, settings)
	s := commandtest.Run(t, nil, "replay", "batches/b", "--store", early.Store()).Want(t, terminal.ExitFailed)
	if !regexp.MustCompile(`^batches/b  log  open  backs off until ` + commandtest.LocalPattern +
		`\n(.*\n)*effects that back off are ` +
		`retried then; --now tries them at once\n$`).MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	s = commandtest.Run(t, nil, "replay", "batches/b", "--json", "--store", early.Store()).Want(t, terminal.ExitFailed)
	if !strings.Contains(s.Out, `"claimableAt": "`) {
		t.Errorf("%s", s.Out)
	}

	unknown := commandtest.NewFile(t)
	unknown.Dead("batches/a")
	replay(unknown, "ran none of 1 effect of 1 operation; the log says why\n0 done, 1 dead still", settings, again,
		"OPLEDGER_EFFECTS=[{name: later, on: [SUCCEEDED], do: log}]")

	gone := commandtest.NewFile(t)
	gone.Dead("batches/a")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(receiver.Close)
	replay(gone, "ran 1 effect of 1 operation, once each; opledger show NAME shows the outcome\n0 done, 1 dead again",
		"not done: 1 of 1 effect", again,
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '"+receiver.URL+"'}]",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true")
}
