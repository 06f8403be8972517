package effect

import (
	"context"
	"log/slog"

	"github.com/opledger/opledger/shared/ledger"
)

// Log returns a handler that writes the completion to log: the effect that runs where nobody asked for another.
func Log(log *slog.Logger) Handler {
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		log.InfoContext(ctx, "operation settled",
			"operation", task.Operation, "effect", task.Effect, "idempotencyKey", task.IdempotencyKey,
			"payload", string(task.Payload))
		return nil, nil
	})
}
