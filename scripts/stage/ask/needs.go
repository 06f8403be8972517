package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/config"
)

// needs prints the functions that ask Gemini with the settings in environ, one a line: Reconcile always,
// Webhook if it confirms unverified deliveries, Effects if an effect fetches the results of a batch.
// Whether the API key is set is not checked. The error joins the problems of the settings.
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
	}](environ)
	if err := errors.Join(err, effectsErr); err != nil {
		return err
	}
	if webhook.Webhook.Asks() {
		_, err = fmt.Fprintln(w, "webhook")
	}
	_, reconcileErr := fmt.Fprintln(w, "reconcile")
	if effects.Results.Wanted {
		_, effectsErr = fmt.Fprintln(w, "effects")
	}
	return errors.Join(err, reconcileErr, effectsErr)
}
