package config

import (
	"slices"

	"github.com/opledger/opledger/shared/effect"
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
	specs, err := parseEffects(r.EffectsText)
	if err != nil {
		return nil // Ledger says it
	}
	if r.Wanted = slices.ContainsFunc(specs, effect.Spec.FetchesResults); r.Wanted {
		return r.Gemini.validate()
	}
	return nil
}
