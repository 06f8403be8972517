package open

import (
	"github.com/opledger/opledger/scripts/opledger/server"
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
