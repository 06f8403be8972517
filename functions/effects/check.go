package effects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
)

// CheckSettings returns every problem that would keep the function from starting with environ, which is in the form of os.Environ,
// joined. It asks nobody: of a secret it sees the name alone. Where an effect has do: custom it calls Custom, to know which
// handlers there are; an error of that is none of the settings, for a handler may need what only the deployed function has, and
// then such effects are taken as they are.
func CheckSettings(ctx context.Context, environ []string) error {
	s, err := config.Parse[settings](environ)
	problems := []error{err}
	isCustom := func(spec effect.Spec) bool { return spec.Do == "custom" }
	specs, log := s.Ledger.Effects, slog.New(slog.DiscardHandler)
	var custom map[string]effect.Handler
	if slices.ContainsFunc(specs, isCustom) {
		if custom, err = Custom(ctx, log); err != nil {
			specs = slices.DeleteFunc(slices.Clone(specs), isCustom)
		}
	}
	_, err = effect.Handlers(specs, effect.HandlerOptions{Log: log, Topics: effect.NewTopics(s.Firestore.ProjectID), Custom: custom})
	for _, problem := range config.Problems(err) {
		problems = append(problems, fmt.Errorf("OPLEDGER_EFFECTS: %w", problem))
	}
	return errors.Join(problems...)
}
