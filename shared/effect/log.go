package effect

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/opledger/opledger/shared/ledger"
)

var logKind = kind{name: "log", new: func() Action { return &DoLog{} }}

// DoLog writes the completion to the log. It has no settings.
type DoLog struct{}

func (*DoLog) fields() []field { return nil }

func (*DoLog) check(Spec, report) {}

func (*DoLog) handler(_ Spec, o HandlerOptions) (Handler, error) { return Log(o.Log), nil }

func (*DoLog) unperformable(context.Context, HandlerOptions) error { return nil }

// Log returns a handler that writes the completion to log, or an alert as a warning.
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
