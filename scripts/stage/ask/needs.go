package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/spec"
)

// needs prints the functions that ask Gemini with the settings in environ, one a line: Reconcile always,
// Webhook if it confirms unverified deliveries, Effects if an effect fetches the results of a batch, or if
// there are jobs. Then it prints "secret NAME" for each secret that an effect names. Whether the API key is
// set is not checked. The error joins the problems of the settings.
func needs(environ []string, w io.Writer) error {
	// Whether a key is set here says nothing of the deployment, which has it in a secret.
	environ = slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		return strings.HasPrefix(variable, "GEMINI_API_KEY=")
	})
	environ = append(environ,
		"OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/s")
	webhook, err := config.Parse[struct{ Webhook config.Webhook }](environ)
	effects, effectsErr := config.Parse[struct {
		Ledger  config.Ledger
		Results config.Results
		Jobs    config.Jobs
	}](environ)
	if err := errors.Join(err, effectsErr); err != nil {
		return err
	}
	if webhook.Webhook.Asks() {
		_, err = fmt.Fprintln(w, "webhook")
	}
	_, reconcileErr := fmt.Fprintln(w, "reconcile")
	if effects.Results.Wanted || effects.Jobs.Storage != "" {
		_, effectsErr = fmt.Fprintln(w, "effects")
	}
	return errors.Join(err, reconcileErr, effectsErr, printSecrets(effects.Ledger.Effects, w))
}

// printSecrets prints the secrets that effects name, each once.
func printSecrets(specs []spec.Spec, w io.Writer) error {
	names := map[string]bool{}
	for _, s := range specs {
		for _, from := range s.Do.Sources() {
			if from.Variable == "" {
				names[from.String()] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, err := fmt.Fprintln(w, "secret", name); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

// masked prints OPLEDGER_EFFECTS in environ without what looks like a secret in its URLs.
func masked(environ []string, w io.Writer) error {
	for _, variable := range environ {
		if text, ok := strings.CutPrefix(variable, "OPLEDGER_EFFECTS="); ok {
			if _, err := io.WriteString(w, spec.Masked(text)); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
	}
	return nil
}
