package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lostLog is the functions' log since the backup: a is registered, b registered and done, c done by
// a run of its own.
const lostLog = `opledger: the ledger is in sqlite:opledger.db
{"event":"intent","correlation":"nightly","jobKind":"night","collection":"batches","outcome":"created"}
{"event":"ingest","operation":"batches/b","outcome":"applied","registered":true}
{"event":"register","operation":"batches/b","name":"projects/p/batches/b","jobKind":"test",` +
	`"correlation":"of-b","outcome":"created","time":"2026-11-21T02:00:00Z"}
{"event":"ingest","operation":"batches/stranger","outcome":"applied","registered":false}
{"event":"effect","operation":"batches/a","effect":"log","outcome":"finished"}
{"event":"effect","operation":"batches/b","effect":"log","outcome":"failed"}
{"event":"effect","operation":"batches/b","effect":"log","outcome":"skipped","reason":"done"}
{"event":"effect","operation":"batches/known","effect":"log","outcome":"finished"}
`

func lost(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "serve.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

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
	for form, text := range map[string]string{"as printed": lostLog, "as gcloud reads it": asGcloud(t, lostLog)} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			f := newFile(t)
			f.register("batches/a", "batches/open", "batches/known")
			for _, key := range []operation.Key{"batches/a", "batches/open", "batches/known"} {
				f.settle(key, operation.Succeeded, operation.Result{})
			}
			f.finish("batches/known")
			command := []string{"recover", "--store", f.store(), "--log", lost(t, text), "--by", "ops"}
			want := "missing: 1 intent, 1 operation, done: 1 effect\n" +
				"done in the log, but not ended in the ledger: 1 effect; recover again after a pass has settled their " +
				"operations\n" +
				"  batches/b  log\n" +
				"open, and not done in the log: 1 effect; they run when the pause ends\n" +
				"OPERATION     EFFECT  STATE    ATTEMPTS  IDEMPOTENCY KEY\n" +
				"batches/open  log     PENDING  0         gemini:batches/open#log\n"
			if s := cli(t, nil, append(command, "--dry-run")...).want(t, exitDone); s.out != want {
				t.Errorf("%s\nwant\n%s", s.out, want)
			}
			cli(t, nil, command...).want(t, exitFailed,
				"Record 1 intent, register 1 operation, and record 1 effect as done? [y/N]", "nothing was changed")
			if e := f.effects("batches/a")["log"]; e.State != ledger.EffectPending {
				t.Errorf("without a yes: %+v", e)
			}
			if s := answer(t, nil, "y\n", command...).want(t, exitDone); s.out != strings.Replace(want, "missing:", "recovered:",
				1) {
				t.Errorf("%s", s.out)
			}
			if e := f.effects("batches/a")["log"]; e.State != ledger.EffectDone || e.Recovered == nil ||
				e.Recovered.By != "ops" || e.Attempts != 0 {
				t.Errorf("a: %+v", e)
			}
			if s := cli(t, nil, "show", "batches/a", "--store", f.store()).want(t, exitDone); !strings.Contains(s.out,
				"log was recovered by ops at ") {
				t.Errorf("%s", s.out)
			}
			if e := f.effects("batches/known")["log"]; e.Recovered != nil {
				t.Errorf("known: %+v", e)
			}
			cli(t, nil, "intent", "show", "--store", f.store(), "nightly").want(t, exitDone)
			f.settle("batches/b", operation.Succeeded, operation.Result{})
			s := cli(t, nil, append(command, "--yes", "--json")...).want(t, exitDone)
			var report struct {
				Intents    []string
				Operations []operation.Key
				Effects    []lostEffect
				Later      []lostEffect
				Open       []lostEffect
			}
			oneObject(t, s.out, &report)
			if fmt.Sprint(report) != "{[] [] [{batches/b log}] [] [{batches/open log}]}" {
				t.Errorf("%+v", report)
			}
			if e := f.effects("batches/b")["log"]; e.State != ledger.EffectDone || !strings.Contains(e.Payload,
				`"jobKind":"test"`) {
				t.Errorf("b: %+v", e)
			}
			if rec := f.record("batches/b"); rec.Name != "projects/p/batches/b" || rec.CorrelationID != "of-b" ||
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
	f := newFile(t)
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	f.claim("batches/a")
	s := cli(t, nil, "recover", "--store", f.store(), "--yes", "--log",
		lost(t, `{"event":"effect","operation":"batches/a","effect":"log","outcome":"finished"}`))
	s.want(t, exitFailed, "OPLEDGER_EFFECTS_PAUSED=true").complaint(t)
	if e := f.effects("batches/a")["log"]; e.State != ledger.EffectClaimed {
		t.Errorf("%+v", e)
	}
}

// TestRecoverRefused: a file that is no log, or has no facts, is refused with its name.
func TestRecoverRefused(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	for text, want := range map[string]string{
		"":                                "no line records",
		"hello\n{\"event\":\"auth\"}\n":   "no line records",
		"[{\"jsonPayload\":":              "unexpected EOF",
		`[{"jsonPayload":{"event":"a"}}]`: "no line records",
	} {
		path := lost(t, text)
		cli(t, nil, "recover", "--store", f.store(), "--log", path).want(t, exitUsage, path, want).complaint(t)
	}
	cli(t, nil, "recover", "--store", f.store()).want(t, exitUsage, "--log").complaint(t)
	cli(t, nil, "recover", "--store", f.store(), "--log", "/nowhere/serve.log").want(t, exitUsage,
		"/nowhere/serve.log").complaint(t)
	cli(t, nil, "recover", "--store", "sqlite:"+filepath.Join(t.TempDir(), "none.db"), "--log", lost(t, lostLog)).want(t,
		exitUnread, "there is no ledger").complaint(t)
}

// claim takes an operation's effect, as a worker does.
func (f file) claim(key operation.Key) (lease ledger.Lease) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Claim(ctx, key, "log")
		lease = grant.Lease
		return err
	})
	return lease
}

// finish makes an operation's effect done.
func (f file) finish(key operation.Key) {
	f.t.Helper()
	lease := f.claim(key)
	f.with(func(ctx context.Context, l *ledger.Ledger) error { return l.Finish(ctx, lease) })
}

func (f file) record(key operation.Key) (rec operation.Record) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) (err error) {
		rec, err = l.Record(ctx, key)
		return err
	})
	return rec
}
