package effect

import (
	"context"
	"errors"
)

// ErrNoHandler is the error for an effect of kind custom whose handler this program does not have.
var ErrNoHandler = errors.New("do is custom, and this program has no handler of that name")

var customKind = kind{name: "custom", new: func() Action { return &DoCustom{} }}

// DoCustom runs the team's own handler that has the name of the effect. It has no settings.
type DoCustom struct{}

func (*DoCustom) fields() []field { return nil }

func (*DoCustom) check(Spec, report) {}

func (*DoCustom) handler(s Spec, o HandlerOptions) (Handler, error) {
	if handler := o.Custom[s.Name]; handler != nil {
		return handler, nil
	}
	return nil, ErrNoHandler
}

func (*DoCustom) unperformable(context.Context, HandlerOptions) error { return nil }
