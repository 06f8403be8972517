package spec

import (
	"errors"

	"github.com/opledger/opledger/shared/diag"
)

// A Kind is what may stand after "do:" in the settings.
type Kind struct {
	Name string
	New  func() Action // one without settings, to be read into
}

// An Action is what an effect does, with the settings that only its kind has.
type Action interface {
	// Fields are the settings of the kind.
	Fields() []Field
	// Check reports what is wrong with them. What could not be read is not reported again.
	Check(s Spec, wrong Report)
	// Sources are the secrets that the settings name, each once.
	Sources() []Source
	// Warning is what may be a mistake in the settings; nil where there is none. It is no reason not to
	// start.
	Warning() error
}

// A Report adds a problem of a field.
type Report func(field, format string, args ...any)

// A Fetcher is an Action that reads a batch's result, once per item or as a whole.
type Fetcher interface{ PerItem() bool }

// NoSecrets is embedded by the Action of a kind whose settings neither name nor hold a secret.
type NoSecrets struct{}

// Sources are none.
func (NoSecrets) Sources() []Source { return nil }

// Warning is none.
func (NoSecrets) Warning() error { return nil }

// Warnings joins what may be a mistake in the settings of effects.
func Warnings(specs []Spec) error {
	var p diag.Problems
	for _, s := range specs {
		err := s.Do.Warning()
		p.When(err != nil, "effect %q: %w", s.Name, err)
	}
	return errors.Join(p...)
}
