package backup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/backup"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// asGcloud is the same log as `gcloud logging read --format=json` prints it.
func asGcloud(t *testing.T, text string) string {
	t.Helper()
	var entries []map[string]any
	for line := range strings.Lines(text) {
		var payload map[string]any
		if json.Unmarshal([]byte(line), &payload) == nil {
			entries = append(entries, map[string]any{"jsonPayload": payload, "timestamp": payload["time"], "severity": "INFO"})
		}
	}
	entries = append(entries, map[string]any{"textPayload": "Default STARTUP TCP probe succeeded"})
	list, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(list)
}

// TestRecover: what the log shows as recorded, registered and done is restored without a run, and
// open effects are listed [S7, L2, G6]. Repeating it is safe, and continues once operations have
// ended.
func TestRecover(t *testing.T) {
	t.Parallel()
	for form, text := range map[string]string{"as printed": commandtest.LostLog,
		"as gcloud reads it": asGcloud(t, commandtest.LostLog)} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			f := commandtest.NewFile(t)
			f.Register("batches/a", "batches/open", "batches/known")
			for _, key := range []operation.Key{"batches/a", "batches/open", "batches/known"} {
				f.Settle(key, operation.Succeeded, operation.Result{})
			}
			finish(f, "batches/known")
			command := []string{"recover", "--store", f.Store(), "--log", commandtest.Lost(t, text), "--by", "ops"}
			want := "missing: 1 intent, 1 operation, done: 1 effect\n" +
				"done in the log, but not ended in the ledger: 1 effect; recover again after a pass has settled their " +
				"operations\n" +
				"  batches/b  log\n" +
				"open, and not done in the log: 1 effect; they run when the pause ends\n" +
				"OPERATION     EFFECT  STATE    ATTEMPTS  IDEMPOTENCY KEY\n" +
				"batches/open  log     PENDING  0         gemini:batches/open#log\n"
			if s := commandtest.Run(t, nil, append(command, "--dry-run")...).Want(t, terminal.ExitDone); s.Out != want {
				t.Errorf("%s\nwant\n%s", s.Out, want)
			}
			commandtest.Run(t, nil, command...).Want(t, terminal.ExitFailed,
				"Record 1 intent, register 1 operation, and record 1 effect as done? [y/N]", "nothing was changed")
			if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectPending {
				t.Errorf("without a yes: %+v", e)
			}
			if s := commandtest.Answer(t, nil, "y\n", command...).Want(t, terminal.ExitDone); s.Out != strings.Replace(want,
				"missing:", "recovered:",
				1) {
				t.Errorf("%s", s.Out)
			}
			if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectDone || e.Recovered == nil ||
				e.Recovered.By != "ops" || e.Attempts != 0 {
				t.Errorf("a: %+v", e)
			}
			if s := commandtest.Run(t, nil, "show", "batches/a", "--store", f.Store()).Want(t,
				terminal.ExitDone); !strings.Contains(s.Out,
				"log was recovered by ops at ") {
				t.Errorf("%s", s.Out)
			}
			if e := f.Effects("batches/known")["log"]; e.Recovered != nil {
				t.Errorf("known: %+v", e)
			}
			commandtest.Run(t, nil, "intent", "show", "--store", f.Store(), "nightly").Want(t, terminal.ExitDone)
			f.Settle("batches/b", operation.Succeeded, operation.Result{})
			s := commandtest.Run(t, nil, append(command, "--yes", "--json")...).Want(t, terminal.ExitDone)
			var report struct {
				Intents    []string
				Operations []operation.Key
				Effects    []backup.LostEffect
				Later      []backup.LostEffect
				Open       []backup.LostEffect
			}
			commandtest.OneObject(t, s.Out, &report)
			if fmt.Sprint(report) != "{[] [] [{batches/b log}] [] [{batches/open log}]}" {
				t.Errorf("%+v", report)
			}
			if e := f.Effects("batches/b")["log"]; e.State != ledger.EffectDone || !strings.Contains(e.Payload,
				`"jobKind":"test"`) {
				t.Errorf("b: %+v", e)
			}
			if rec := record(f, "batches/b"); rec.Name != "projects/p/batches/b" || rec.CorrelationID != "of-b" ||
				rec.SubmittedAt.IsZero() ||
				rec.SubmittedAt.After(time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)) {
				t.Errorf("b: %+v", rec)
			}
		})
	}
}

// TestRecoverHeld: an effect that was done and is claimed again shows that effects are not paused.
func TestRecoverHeld(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	claim(f, "batches/a")
	s := commandtest.Run(t, nil, "recover", "--store", f.Store(), "--yes", "--log",
		commandtest.Lost(t, `{"event":"effect","operation":"batches/a","effect":"log","outcome":"finished"}`))
	s.Want(t, terminal.ExitFailed, "OPLEDGER_EFFECTS_PAUSED=true").Complaint(t)
	if e := f.Effects("batches/a")["log"]; e.State != ledger.EffectClaimed {
		t.Errorf("%+v", e)
	}
}

// TestRecoverRefused: a file that is no log, or has no facts, is refused with its name.
func TestRecoverRefused(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	for text, want := range map[string]string{
		"":                                "no line records",
		"hello\n{\"event\":\"auth\"}\n":   "no line records",
		"[{\"jsonPayload\":":              "unexpected EOF",
		`[{"jsonPayload":{"event":"a"}}]`: "no line records",
	} {
		path := commandtest.Lost(t, text)
		commandtest.Run(t, nil, "recover", "--store", f.Store(), "--log", path).Want(t, terminal.ExitUsage, path,
			want).Complaint(t)
	}
	commandtest.Run(t, nil, "recover", "--store", f.Store()).Want(t, terminal.ExitUsage, "--log").Complaint(t)
	commandtest.Run(t, nil, "recover", "--store", f.Store(), "--log", "/nowhere/serve.log").Want(t, terminal.ExitUsage,
		"/nowhere/serve.log").Complaint(t)
	commandtest.Run(t, nil, "recover", "--store", "sqlite:"+filepath.Join(t.TempDir(), "none.db"), "--log",
		commandtest.Lost(t, commandtest.LostLog)).Want(t,
		terminal.ExitUnread, "there is no ledger").Complaint(t)
}

// claim takes an operation's effect, as a worker does.
func claim(f commandtest.File, key operation.Key) (lease ledger.Lease) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, key, "log")
		lease = grant.Lease
		return err
	})
	return lease
}

// finish makes an operation's effect done.
func finish(f commandtest.File, key operation.Key) {
	f.T.Helper()
	lease := claim(f, key)
	f.With(func(ctx context.Context, l *ledger.Ledger) error { return l.Effects.Finish(ctx, lease) })
}

func record(f commandtest.File, key operation.Key) (rec operation.Record) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) (err error) {
		rec, err = l.Operations.Read(ctx, key)
		return err
	})
	return rec
}
