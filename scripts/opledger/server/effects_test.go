package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// TestCheckEffects: a topic that no effect can be published to is said once, before the effects
// whose own topic is as bad. Not parallel, because it sets a variable.
func TestCheckEffects(t *testing.T) {
	t.Setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:1")
	log := &harness.Log{}
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1", Options{
		Topic: "projects/p/topics/effects", TopicTimeout: time.Minute, Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	lines := s.CheckEffects(t.Context())
	const want = "no effect can be run now: OPLEDGER_TOPIC: asking Pub/Sub for the topic projects/p/topics/effects: "
	if len(lines) != 1 || !strings.HasPrefix(lines[0].Words, want) {
		t.Errorf("%v, want %q", lines, want)
	}
	logged := log.Drain(t)
	if len(logged) != 1 || logged[0]["outcome"] != "unperformable" || logged[0]["event"] != "effect" {
		t.Errorf("%v", logged)
	}
	if s.checkAgain(t.Context()); len(log.Drain(t)) != 0 || len(*s.unperformable.Load()) != 1 {
		t.Errorf("checked again: %v", *s.unperformable.Load())
	}
	s.options.Topic = ""
	if s.checkAgain(t.Context()); len(*s.unperformable.Load()) != 0 {
		t.Errorf("%v of what can be performed", *s.unperformable.Load())
	}
}

// TestCheckJobStorage: job storage that cannot be written is said at the start, in a line and in the log.
func TestCheckJobStorage(t *testing.T) {
	t.Parallel()
	log, folder := &harness.Log{}, t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]int{filepath.Join(file, "jobs"): 1, filepath.Join(folder, "jobs"): 0} {
		s, unused := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1",
			Options{Log: slog.New(slog.NewJSONHandler(log, nil))}, "OPLEDGER_JOB_STORAGE="+location)
		if err := unused.Close(); err != nil {
			t.Fatal(err)
		}
		lines, logged := s.CheckEffects(t.Context()), log.Drain(t)
		if len(lines) != want || len(logged) != want {
			t.Fatalf("%s: %v, %v", location, lines, logged)
		}
		if want > 0 && (!strings.HasPrefix(lines[0].Words, "no job can be run now: OPLEDGER_JOB_STORAGE: ") ||
			logged[0]["event"] != "job" || logged[0]["outcome"] != "unperformable") {
			t.Errorf("%v, %v", lines, logged)
		}
	}
}

// TestStoreSettingsLeftOut: what a start leaves out is said at each further one, until one has it again [L7].
func TestStoreSettingsLeftOut(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	starts := func(effects string) []string {
		t.Helper()
		s, unused := open(t, file, "http://127.0.0.1:1", Options{Log: slog.New(slog.DiscardHandler)}, effects)
		if err := unused.Close(); err != nil {
			t.Fatal(err)
		}
		return s.StoreSettings(t.Context(), "serve")
	}
	const one = "OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log}]"
	const three = "OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: log}, {name: forward, on: [FAILED], do: log}, " +
		"{name: c, on: [FAILED], do: log}]"
	const two = "OPLEDGER_EFFECTS=[{name: c, on: [FAILED], do: log}, {name: a, on: [FAILED], do: log}]"
	const c = "without the effect c, which was planned before: start serve again with it in OPLEDGER_EFFECTS"
	const forward = "without the effect forward, which was planned before: start serve again with it by --forward-to, " +
		"or in OPLEDGER_EFFECTS"
	for i, start := range []struct {
		effects string
		says    []string
	}{
		{three, nil}, {three, nil}, {one, []string{c, forward}}, {one, []string{c, forward}}, {two, []string{forward}},
		{three, nil},
	} {
		said := starts(start.effects)
		if !slices.EqualFunc(said, start.says, strings.HasSuffix) {
			t.Errorf("start %d: %q, want %q", i+1, said, start.says)
		}
	}
}
