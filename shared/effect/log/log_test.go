package log_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// TestLogAlert: an alert is a warning that log-based metrics count by its event and reason [R4].
func TestLogAlert(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	payload := `{"operation":"batches/a","alert":{"kind":"stuck","since":"2026-03-01T12:00:00Z","attempts":7,` +
		`"detail":"it waits"}}`
	_, err := effectlog.New(logging.New(&log, "")).Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Operation: "batches/a", Effect: "page@stuck-1", IdempotencyKey: "gemini:batches/a#page@stuck-1",
		Payload: []byte(payload),
	}})
	var line map[string]any
	if err := errors.Join(err, json.Unmarshal(log.Bytes(), &line)); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{
		"severity": "WARNING", "event": "alert", "reason": "stuck", "operation": "batches/a", "effect": "page@stuck-1",
		"detail": "it waits", "payload": payload,
	} {
		if line[field] != want {
			t.Errorf("%s is %v, want %v", field, line[field], want)
		}
	}
}
