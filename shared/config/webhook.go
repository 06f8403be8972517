package config

import (
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/trust"
)

// Webhook is how deliveries are verified, and which of them are confirmed at Gemini.
type Webhook struct {
	SigningSecrets
	// Audiences are the accepted aud of a dynamic webhook's token, separated by spaces. Receivers on record
	// expect the function's URL. Not set: every token is refused.
	Audiences Words `env:"OPLEDGER_WEBHOOK_AUDIENCE" secret:"no"`
	// Issuers are the accepted iss of a token, separated by spaces; only with an audience. Not set: any.
	Issuers Words `env:"OPLEDGER_WEBHOOK_ISSUER" secret:"no"`
	// KeysURL is where the keys of tokens are published: https, or http on loopback. Not set: Gemini's.
	KeysURL string `env:"OPLEDGER_JWKS_URL" secret:"no"`
	// Confirm is which deliveries are confirmed at Gemini: never, dynamic (those with a token) or always.
	// With never, unsigned bodies are believed. All but never need the API key.
	Confirm trust.Policy `env:"OPLEDGER_CONFIRM" envDefault:"dynamic" secret:"no"`
	// Tolerance is how far a delivery's time may be off, either way.
	Tolerance time.Duration `env:"OPLEDGER_TOLERANCE" envDefault:"5m"`
	// Timeout is the time within which a delivery is answered, whatever the store does; shorter than 60s.
	// Past it the answer is 503, and Gemini redelivers.
	Timeout time.Duration `env:"OPLEDGER_WEBHOOK_TIMEOUT" envDefault:"10s"`
	// Gemini confirms unverified deliveries. It is checked only where there can be any.
	Gemini Gemini
}

// Words are texts that are separated by white space.
type Words []string

// UnmarshalText splits text. It returns no error.
func (w *Words) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

// platformTimeout is when a deployment's platform ends a request to the webhook.
const platformTimeout = time.Minute

// Asks reports whether there can be unverified deliveries, which are confirmed at Gemini.
func (w *Webhook) Asks() bool {
	return w.Confirm == trust.Always || w.Confirm == trust.Dynamic && len(w.Audiences) > 0
}

func (w *Webhook) validate(p *diag.Problems) {
	p.When(w.Tolerance <= 0, "OPLEDGER_TOLERANCE: it must be a duration longer than zero, such as 5m")
	p.When(w.Timeout <= 0 || w.Timeout >= platformTimeout, "OPLEDGER_WEBHOOK_TIMEOUT: it must be longer than zero and "+
		"shorter than %s, after which the platform answers instead, such as 10s", platformTimeout)
	p.When(len(w.Issuers) > 0 && len(w.Audiences) == 0, "OPLEDGER_WEBHOOK_ISSUER: it counts only with "+
		"OPLEDGER_WEBHOOK_AUDIENCE; without that, tokens are refused")
	if w.KeysURL != "" {
		p.Of("OPLEDGER_JWKS_URL", trust.CheckKeysURL(w.KeysURL))
	}
	if w.Asks() {
		w.Gemini.validate(p)
	}
}
