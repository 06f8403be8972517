package server

import (
	"log/slog"
	"path/filepath"
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
	if len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
		t.Errorf("%q, want %q", lines, want)
	}
	logged := log.Drain(t)
	if len(logged) != 1 || logged[0]["outcome"] != "unperformable" || logged[0]["event"] != "effect" {
		t.Errorf("%v", logged)
	}
	s.options.Topic = ""
	if lines := s.CheckEffects(t.Context()); len(lines) != 0 {
		t.Errorf("%q of what can be performed", lines)
	}
}
