// Package log is the kind of effect that writes a line to the log.
package log

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
)

// Do writes the completion to the log. It has no settings.
type Do struct{ spec.NoSecrets }

// Fields implements [spec.Action].
func (*Do) Fields() []spec.Field { return nil }

// Check implements [spec.Action].
func (*Do) Check(spec.Spec, spec.Report) {}

// Handler returns what performs the effect.
func (*Do) Handler(_ spec.Spec, log *slog.Logger) (effect.Handler, error) { return New(log), nil }

// Unperformable returns nil: a line can always be written.
func (*Do) Unperformable(context.Context, *slog.Logger) error { return nil }

// New returns a handler that writes the completion to log, or an alert as a warning.
func New(log *slog.Logger) effect.Handler {
	return effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
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
