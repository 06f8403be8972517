package effects

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/custom"
	"github.com/opledger/opledger/shared/effect/spec"
)

// CheckSettings returns, joined, every problem that would keep the function from starting with
// environ, as of os.Environ: also those of CheckHandlers. It connects to nothing, and checks only
// the name of a secret.
func CheckSettings(ctx context.Context, environ []string) error {
	s, err := config.Parse[settings](environ)
	return errors.Join(err, CheckHandlers(ctx, s.Ledger.Effects, s.Firestore.ProjectID))
}

// Warnings returns, joined, possible mistakes in environ, with which the function starts all the
// same.
func Warnings(environ []string) error {
	s, _ := config.Parse[settings](environ) // CheckSettings reports the error
	return s.Warnings()
}

// CheckHandlers returns every problem of the effects that only shows with their handlers, joined.
// project is that of topics which do not name one; it may be empty. Where an effect has do: custom
// it calls Custom, to know which handlers there are. An error of Custom is not a problem of the
// settings, since a handler may need what only the deployed function has. Such effects are not
// checked then.
func CheckHandlers(ctx context.Context, specs []spec.Spec, project string) error {
	isCustom := func(s spec.Spec) bool {
		_, ok := s.Do.(*custom.Do)
		return ok
	}
	var own map[string]effect.Handler
	if slices.ContainsFunc(specs, isCustom) {
		var err error
		if own, err = Custom(ctx, slog.New(slog.DiscardHandler)); err != nil {
			specs = slices.DeleteFunc(slices.Clone(specs), isCustom)
		}
	}
	return cloud.CheckHandlers(specs, project, own)
}
