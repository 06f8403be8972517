// Command needs prints which functions must read the Gemini API key with the settings in its environment, one on a line: Reconcile
// always, Webhook where a delivery may be an unverified one that Gemini confirms, Effects where an effect fetches a batch's results.
//
//	OPLEDGER_CONFIRM=always go run ./scripts/stage/needs
//
// Only these may read it, so the scripts grant by this list. Terraform computes the same of its variables (infra/needs.tf),
// and its tests have the same cases.
// The exit code is 2 where the settings cannot be used.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

func main() {
	if err := run(os.Environ(), os.Stdout); err != nil {
		_, _ = io.WriteString(os.Stderr, diag.Lines("needs", err)) // there is nowhere else to say it
		os.Exit(2)
	}
}

func run(environ []string, w io.Writer) error {
	// Whether the key is there is not asked.
	environ = append(environ[:len(environ):len(environ)], "GEMINI_API_KEY=", "OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/s")
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
