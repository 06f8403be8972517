package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/config"
)

// needs prints the functions that ask Gemini with the settings in environ, one a line: Reconcile always,
// Webhook if it confirms unverified deliveries, Effects if an effect fetches the results of a batch.
// Whether the API key is set is not checked. The error joins the problems of the settings.
func needs(environ []string, w io.Writer) error {
	environ = append(environ[:len(environ):len(environ)], "GEMINI_API_KEY=",
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
