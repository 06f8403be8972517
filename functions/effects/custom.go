package effects

import (
	"context"
	"log/slog"

	"github.com/opledger/opledger/shared/effect"
)

// Custom returns the team's own handlers, by the name of the effect that each performs: the effects with do: custom in
// OPLEDGER_EFFECTS. It is called once, when the function starts, so this is where their clients are made; an error keeps the
// function from starting, and the messages come again. Package effect says what a handler must keep to, with examples.
// CheckHandlers calls it too, on the machine that deploys and before `opledger` opens a ledger, for the names alone.
func Custom(context.Context, *slog.Logger) (map[string]effect.Handler, error) {
	return map[string]effect.Handler{}, nil
}
