package effect

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/opledger/opledger/shared/ledger"
)

// Log returns a handler that writes the completion to log, or the alert as a warning: the effect that runs where nobody asked
// for another.
func Log(log *slog.Logger) Handler {
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		log := log.With("operation", task.Operation, "effect", task.Effect, "idempotencyKey", task.IdempotencyKey,
			"payload", string(task.Payload))
		var payload ledger.Payload
		if err := json.Unmarshal(task.Payload, &payload); err == nil && payload.Alert != nil {
			log.WarnContext(ctx, "alert", "event", "alert", "reason", payload.Alert.Kind, "detail", payload.Alert.Detail)
		} else {
			log.InfoContext(ctx, "operation settled")
		}
		return nil, nil
	})
}
