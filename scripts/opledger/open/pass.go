package open

import (
	"errors"
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
)

// PassSettings are those of a pass: all but the webhook function's.
type PassSettings struct {
	Project   config.Project
	Ledger    config.Ledger
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
	Signing   config.SigningSecrets
	Handlers  config.Handlers
	Results   config.Results
	Jobs      config.Jobs
}

// Server are the settings as those of the functions.
func (s PassSettings) Server() server.Settings {
	return server.Settings{
		Project: s.Project, Ledger: s.Ledger, Gemini: s.Gemini, Discovery: s.Discovery, Endpoint: s.Endpoint,
		Handlers: s.Handlers, Results: s.Results, Jobs: s.Jobs, Webhook: config.Webhook{SigningSecrets: s.Signing},
	}
}

// parsePass is Parse for a command that asks Gemini where no serve did: unasked is why; nil: none was to. Where the API
// key is missing the error adds that a serve has one, and how it is had.
func parsePass(outside terminal.Environment, unasked error) (PassSettings, Location, error) {
	settings, where, err := Parse[PassSettings](outside)
	if err == nil || settings.Gemini.IsSet() {
		return settings, where, err
	}
	found, findErr := Find(outside)
	_, silent := errors.AsType[*SilentServeError](unasked)
	if findErr == nil && found.IsFile() && (silent || errors.Is(unasked, ErrNoServe)) {
		err = fmt.Errorf("%w: %s, or give its variables here: %w", unasked, found.ServeAgain(unasked), err)
	}
	return settings, where, err
}
