package effects

import (
	"context"
	"log/slog"

	"github.com/opledger/opledger/shared/effect"
)

// Custom returns the team's own handlers, by the name of the effect that each performs: the effects
// with do: custom in OPLEDGER_EFFECTS. It is called once, when the function starts, so their
// clients are made here. An error keeps the function from starting, and its messages are
// redelivered. The documentation of package effect has the duties of a handler, with examples.
// CheckHandlers calls Custom too, before a deployment and before `opledger` opens a ledger, for the
// names alone.
func Custom(context.Context, *slog.Logger) (map[string]effect.Handler, error) {
	return map[string]effect.Handler{}, nil
}
