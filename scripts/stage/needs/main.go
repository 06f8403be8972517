// Command needs prints which functions must read the Gemini API key with the settings in its
// environment, one per line: Reconcile always, Webhook if it confirms unverified deliveries at Gemini,
// Effects if an effect fetches the results of a batch.
//
//	OPLEDGER_CONFIRM=always go run ./scripts/stage/needs
//
// No other function may read it: the scripts grant access by this list. Terraform computes the same from
// its variables (infra/needs.tf), and its tests have the same cases. The exit code is 2 if the settings
// cannot be used.
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
		_, _ = io.WriteString(os.Stderr, diag.Lines("needs", err)) // stderr is the last place to report to
		os.Exit(2)
	}
}

func run(environ []string, w io.Writer) error {
	// Whether the key exists is not checked here.
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
