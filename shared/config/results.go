package config

import "github.com/opledger/opledger/shared/diag"

// Results is how the results of batches are fetched, for effects that run once per item or write
// them to Cloud Storage.
type Results struct {
	// Gemini is checked only where results are Wanted.
	Gemini Gemini

	// Wanted reports whether one of Ledger.Effects fetches results.
	Wanted bool `env:"-"`
}

func (r *Results) validateWith(p *diag.Problems, l *Ledger) {
	if r.Wanted = l.fetchesResults; r.Wanted {
		r.Gemini.validate(p)
	}
}
