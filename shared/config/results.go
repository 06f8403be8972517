package config

import (
	"slices"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/operation"
)

// Results is how the results of batches are fetched, for effects that run once per item or write them to Cloud Storage.
type Results struct {
	EffectsText string `env:"OPLEDGER_EFFECTS"`
	// Gemini is asked for them. It is checked only where they are Wanted.
	Gemini Gemini

	// Wanted: there is such an effect.
	Wanted bool `env:"-"`
}

func (r *Results) validate() []error {
	specs, _ := parseEffects(r.EffectsText, operation.Transitions{}) // Ledger says what is wrong with them
	if r.Wanted = slices.ContainsFunc(specs, effect.Spec.FetchesResults); r.Wanted {
		return r.Gemini.validate()
	}
	return nil
}
