package config

import (
	"errors"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/secret"
)

// Gemini is the address of the Gemini API and its key, which is given itself or as the name of its
// secret. The values are texts, which validate checks, because some groups need Gemini only under a
// condition: unused values must not be refused.
type Gemini struct {
	// APIKey is the key itself, for serve and commands. Deployed functions take the next row.
	APIKey string `env:"GEMINI_API_KEY"`
	// APIKeySecret is the key's secret, projects/P/secrets/S; its latest version is read once. Set exactly
	// one of the two.
	APIKeySecret string `env:"OPLEDGER_GEMINI_API_KEY_SECRET" secret:"no"`
	// BaseURL is where Gemini is: https, or http on loopback, because the key is sent there. Not set:
	// Google's.
	BaseURL string `env:"GOOGLE_GEMINI_BASE_URL" secret:"no"`
	// SecretEmulator is the address of an emulated Secret Manager, for tests; empty: Google's.
	SecretEmulator string `env:"SECRET_MANAGER_EMULATOR_HOST" secret:"no"`
}

// IsSet reports whether there is an API key, or the name of its secret.
func (g Gemini) IsSet() bool { return g.APIKey != "" || g.APIKeySecret != "" }

func (g *Gemini) validate(p *diag.Problems) {
	_, err := api.CheckKey(g.APIKey)
	missing := errors.Is(err, api.ErrNoAPIKey)
	p.When(missing && g.APIKeySecret == "", "GEMINI_API_KEY: it is not set, and requests to Gemini need it; "+
		"set it, or OPLEDGER_GEMINI_API_KEY_SECRET to the name of its secret")
	p.When(!missing && g.APIKeySecret != "",
		"OPLEDGER_GEMINI_API_KEY_SECRET: GEMINI_API_KEY is set too; set only one of them")
	if g.APIKeySecret != "" {
		_, err := secret.ParseName(g.APIKeySecret)
		p.Of("OPLEDGER_GEMINI_API_KEY_SECRET", err)
	} else if !missing {
		p.Of("GEMINI_API_KEY", err)
	}
	if g.BaseURL != "" {
		p.Of("GOOGLE_GEMINI_BASE_URL", api.CheckBaseURL(g.BaseURL))
	}
}
