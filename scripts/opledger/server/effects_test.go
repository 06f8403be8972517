package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
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
	if s.checkAgain(t.Context()); len(log.Drain(t)) != 0 || len(s.unperformable.get(t.Context())) != 1 {
		t.Errorf("checked again: %v", s.unperformable.get(t.Context()))
	}
	s.options.Topic = ""
	if s.checkAgain(t.Context()); len(s.unperformable.get(t.Context())) != 0 {
		t.Errorf("%v of what can be performed", s.unperformable.get(t.Context()))
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

// TestStoreSettingsLacks: what the settings lack at the start is said until the process ends, also after a check.
func TestStoreSettingsLacks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	starts := func(effects string) []overview.Unperformable {
		t.Helper()
		s, unused := open(t, file, "http://127.0.0.1:1", Options{Log: slog.New(slog.DiscardHandler)}, effects)
		if err := unused.Close(); err != nil {
			t.Fatal(err)
		}
		lacks := s.StoreSettings(t.Context(), "serve")
		s.CheckEffects(t.Context())
		s.checkAgain(t.Context())
		if unable := s.unable(t.Context()); !slices.Equal(unable, lacks) {
			t.Errorf("it says %v of %v", unable, lacks)
		}
		return lacks
	}
	const one = "OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log}]"
	const three = "OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: log}, {name: b, on: [FAILED], do: log}, " +
		"{name: c, on: [FAILED], do: log}]"
	for _, c := range []struct{ effects, says string }{
		{three, ""}, {three, ""},
		{one, "serve began without the effects b, c, which the one before it planned: what ends now is settled without them"},
		{one, ""}, {"OPLEDGER_EFFECTS=[{name: b, on: [FAILED], do: log}]", "the effect a, which"},
	} {
		lacks := starts(c.effects)
		if c.says == "" && len(lacks) != 0 || c.says != "" && (len(lacks) != 1 || !strings.Contains(lacks[0].Words, c.says) ||
			lacks[0].Playbook != "effects-unknown") {
			t.Errorf("%s: %v", c.effects, lacks)
		}
	}
}
