// Package custom is the kind of effect that runs a handler of the team's own.
package custom

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/spec"
)

// ErrNoHandler is the error for an effect of kind custom whose handler this program does not have.
var ErrNoHandler = errors.New("do is custom, and this program has no handler of that name")

// Do runs the team's own handler that has the name of the effect. It has no settings.
type Do struct{ spec.NoSecrets }

// Fields implements [spec.Action].
func (*Do) Fields() []spec.Field { return nil }

// Check implements [spec.Action].
func (*Do) Check(spec.Spec, spec.Report) {}

// Handler returns what performs the effect, of those by name. Error: ErrNoHandler.
func (*Do) Handler(s spec.Spec, own map[string]effect.Handler) (effect.Handler, error) {
	if handler := own[s.Name]; handler != nil {
		return handler, nil
	}
	return nil, ErrNoHandler
}

// Unperformable returns nil: only the handler knows.
func (*Do) Unperformable(context.Context, map[string]effect.Handler) error { return nil }
