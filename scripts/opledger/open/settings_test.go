package open_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestReadersTakeSettings: status, show and the console judge by what the ledger has stored, where a variable
// does not say otherwise [L7].
func TestReadersTakeSettings(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	_, variables := commandtest.FakeGemini(t, f)
	s := commandtest.Serving(t, append(variables, "OPLEDGER_INTERVAL=20ms", "OPLEDGER_MAX_ATTEMPTS=33",
		"OPLEDGER_RETRY_FOR=5h"),
		"--schedule=false")
	commandtest.Run(t, nil, "reconcile", "--store", f.Store()).Want(t, terminal.ExitDone)
	s.Stop()
	f.With(func(ctx context.Context, l *ledger.Ledger) error { // the pass is three intervals old
		for {
			last, now, err := l.Passes.Last(ctx)
			if err != nil || now.Sub(last.Ended) > 60*time.Millisecond {
				return err
			}
		}
	})
	const late = "last pass ended"
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed, late)
	own := []string{"OPLEDGER_INTERVAL=1h", "OPLEDGER_MAX_ATTEMPTS=44"}
	commandtest.Run(t, own, "status", "--store", f.Store()).Want(t, terminal.ExitDone)

	f.Dead("batches/a")
	commandtest.Run(t, nil, "show", "batches/a", "--json", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		`"maxAttempts": 33`)
	commandtest.Run(t, own, "show", "batches/a", "--json", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		`"maxAttempts": 44`)
	for _, args := range [][]string{nil, {"--allow-actions"}} {
		url, stop := commandtest.ConsoleOver(t, f, nil, args...)
		_, first := commandtest.Fetch(t, "GET", url+"/", "")
		_, settings := commandtest.Fetch(t, "GET", url+"/console/settings", "")
		if stop(); !strings.Contains(first, late) || !strings.Contains(settings, "<dd>20ms</dd>") {
			t.Errorf("%v: late %v: %s", args, strings.Contains(first, late), settings)
		}
	}
	for _, args := range [][]string{nil, {"--allow-actions", "--override-settings"}} {
		url, stop := commandtest.ConsoleOver(t, f, own, args...)
		_, first := commandtest.Fetch(t, "GET", url+"/", "")
		said := stop()
		if strings.Contains(first, late) || !strings.Contains(said, "OPLEDGER_INTERVAL: it is 1h0m0s here, and 20ms in") {
			t.Errorf("%v: late %v: %s", args, strings.Contains(first, late), said)
		}
	}
}

// TestReadersTakeStuckAfter: list and status judge what is late alike, by the ledger's own
// OPLEDGER_STUCK_AFTER, whatever is set here; a value that is no good is refused [L7, R4]. Where none is
// stored, what is late by both is: by the setting here, and by that of the command which registered.
func TestReadersTakeStuckAfter(t *testing.T) {
	t.Parallel()
	const ownCounts = "what the ledger has stored decides what is late"
	for _, c := range []struct {
		name, stored string
		late         bool
	}{
		{"batches/a", "1h", true}, {"batches/a", "12h", false}, {"models/veo/operations/v", "48h", false},
		{"batches/a", "", false},
	} {
		f := commandtest.NewFile(t)
		f.With(func(context.Context, *ledger.Ledger) error { return nil })
		if c.stored != "" {
			_, variables := commandtest.FakeGemini(t, f)
			commandtest.Serving(t, append(variables, "OPLEDGER_STUCK_AFTER="+c.stored), "--schedule=false").Stop()
		}
		submitted := time.Now().Add(-10 * time.Hour).Format(time.RFC3339)
		commandtest.Run(t, nil, "register", c.name, "--submitted-at", submitted, "--store", f.Store()).Want(t,
			terminal.ExitDone)
		for _, here := range []string{"", "1h", "12h", "48h"} {
			set := []string{"OPLEDGER_STUCK_AFTER=" + here}
			list := commandtest.Run(t, set, "list", "--late", "--store", f.Store()).Want(t, terminal.ExitDone)
			status := commandtest.Run(t, set, "status", "--store", f.Store())
			none := strings.Contains(list.Out, "no operation is pending")
			if none == c.late || strings.Contains(status.Out, "for too long") != c.late {
				t.Errorf("%s, stored %q, set %q: %s%s", c.name, c.stored, here, list.Out, status.Out)
			}
			differs := c.stored != "" && here != "" && here != c.stored
			if strings.Contains(list.Err, ownCounts) != differs || strings.Contains(status.Err, ownCounts) != differs {
				t.Errorf("%s, stored %q, set %q: %s%s", c.name, c.stored, here, list.Err, status.Err)
			}
		}
		commandtest.Run(t, []string{"OPLEDGER_STUCK_AFTER=-1h"}, "list", "--store", f.Store()).Want(t,
			terminal.ExitUsage, "OPLEDGER_STUCK_AFTER")
	}
}

// TestSettingsThatDiffer: a command with other settings than the ledger's writes nothing and says what
// differs; --override-settings writes all the same, and a command that only reads does not mind [L7].
func TestSettingsThatDiffer(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	p.serves(t, f).Stop()
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	differs := []string{"OPLEDGER_RETENTION=48h", "OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: log}]"}
	for _, args := range [][]string{
		{"register", "batches/a"}, {"abandon", "batches/a", "--reason", "r"}, {"replay", "batches/a"},
	} {
		s := commandtest.Run(t, differs, append(args, "--store", f.Store())...).Want(t, terminal.ExitUsage,
			"OPLEDGER_RETENTION: it is 48h0m0s here, and 72h0m0s in the ledger",
			"OPLEDGER_EFFECTS: it lacks publish, which the ledger has", "--override-settings")
		if s.Complaint(t); s.Out != "" {
			t.Errorf("%v: %s", args, s.Out)
		}
	}
	if got := statuses(f, "batches/a"); len(got) != 0 {
		t.Errorf("planned %v", got)
	}
	commandtest.Run(t, differs, "replay", "--dead", "--dry-run", "--store", f.Store()).Want(t, terminal.ExitDone)
	commandtest.Run(t, differs, "register", "batches/a", "--override-settings", "--store", f.Store()).Want(t,
		terminal.ExitDone)
	if got := statuses(f, "batches/a"); got["log"] != operation.EffectDone {
		t.Errorf("with what is set here: %v", got)
	}
}

// TestSettingsUnreadable: where what the ledger has stored cannot be read, a command that writes does not,
// unless it is to override it. That command, and one that only reads, take nothing of it, and say so [L7].
func TestSettingsUnreadable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Commit(t.Context(), ledger.Write{Path: ledger.SettingsCollection + "/planning", Data: struct {
		Digest   string        `json:"digest"`
		Rules    []ledger.Rule `json:"rules"`
		StoredBy int           `json:"storedBy"`
	}{"d", []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}, 5}})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	const says = "settings/planning"
	run := func(code int, args ...string) commandtest.Said {
		t.Helper()
		s := commandtest.Run(t, nil, append(args, "--store", f.Store())...).Want(t, code, says)
		if defaults := strings.Contains(s.Err, "what is set here counts, and the defaults"); defaults != (code == 0) {
			t.Errorf("%q: %s", args, s.Err)
		}
		return s
	}
	run(terminal.ExitUnread, "register", "batches/a").Want(t, terminal.ExitUnread, "--override-settings does without it")
	for _, args := range [][]string{
		{"replay", "--dead", "--dry-run"}, {"status"}, {"register", "batches/a", "--override-settings"},
	} {
		if s := run(terminal.ExitDone, args...); strings.Contains(s.Err, "publish") {
			t.Errorf("%q takes a part of it: %s", args, s.Err)
		}
	}
}
