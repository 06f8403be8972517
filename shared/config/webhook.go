package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/trust"
)

// SigningSecrets is what static deliveries are signed with: the secrets themselves, or the names of those in Secret Manager.
type SigningSecrets struct {
	SecretText string `env:"OPLEDGER_WEBHOOK_SECRET"`

	// Secrets are the signing secrets in SecretText, SecretNames those that are in Secret Manager. Both are empty while there
	// is no secret: the first deployment comes before the webhook exists.
	Secrets     []string      `env:"-"`
	SecretNames []secret.Name `env:"-"`
}

// Webhook is what deliveries are verified with, and how far they are believed.
type Webhook struct {
	SigningSecrets
	AudienceText string        `env:"OPLEDGER_WEBHOOK_AUDIENCE"`
	IssuerText   string        `env:"OPLEDGER_WEBHOOK_ISSUER"`
	KeysURL      string        `env:"OPLEDGER_JWKS_URL" envDefault:"https://generativelanguage.googleapis.com/.well-known/jwks.json"`
	ConfirmText  string        `env:"OPLEDGER_CONFIRM" envDefault:"dynamic"`
	Tolerance    time.Duration `env:"OPLEDGER_TOLERANCE" envDefault:"5m"`
	// Timeout is within what time a delivery is answered, whatever the store does.
	Timeout time.Duration `env:"OPLEDGER_WEBHOOK_TIMEOUT" envDefault:"10s"`
	// Gemini is asked what hints are about. It is checked only where there may be any.
	Gemini Gemini

	// Audiences and Issuers are whose tokens are believed; without an audience none are.
	Audiences []string     `env:"-"`
	Issuers   []string     `env:"-"`
	Confirm   trust.Policy `env:"-"`
}

// platformTimeout is after what time a deployment has the platform end a request to the webhook.
const platformTimeout = time.Minute

// Asks reports whether a delivery may be a hint, about which Gemini is asked.
func (w *Webhook) Asks() bool {
	return w.Confirm == trust.Always || w.Confirm == trust.Dynamic && len(w.Audiences) > 0
}

func (w *Webhook) validate() []error {
	problems := w.SigningSecrets.validate()
	if w.Tolerance <= 0 {
		problems = append(problems, errors.New("OPLEDGER_TOLERANCE: it must be a duration longer than zero, such as 5m"))
	}
	if w.Timeout <= 0 || w.Timeout >= platformTimeout {
		problems = append(problems, fmt.Errorf(
			"OPLEDGER_WEBHOOK_TIMEOUT: it must be longer than zero and shorter than %s, after which the platform answers instead, such as 10s",
			platformTimeout))
	}
	w.Audiences, w.Issuers = strings.Fields(w.AudienceText), strings.Fields(w.IssuerText)
	if len(w.Issuers) > 0 && len(w.Audiences) == 0 {
		problems = append(problems,
			errors.New("OPLEDGER_WEBHOOK_ISSUER: it counts only with OPLEDGER_WEBHOOK_AUDIENCE; without that, tokens are refused"))
	}
	problems = append(problems, problemsOf("OPLEDGER_JWKS_URL", trust.CheckKeysURL(w.KeysURL))...)
	var err error
	w.Confirm, err = trust.ParsePolicy(w.ConfirmText)
	problems = append(problems, problemsOf("OPLEDGER_CONFIRM", err)...)
	if w.Asks() {
		problems = append(problems, w.Gemini.validate()...)
	}
	return problems
}

// validate tells the secrets from the names of secrets, and checks both.
func (s *SigningSecrets) validate() []error {
	var problems []error
	for _, text := range strings.Fields(s.SecretText) {
		if !strings.HasPrefix(text, "projects/") {
			s.Secrets = append(s.Secrets, text)
			continue
		}
		name, err := secret.ParseName(text)
		problems = append(problems, problemsOf("OPLEDGER_WEBHOOK_SECRET", err)...)
		s.SecretNames = append(s.SecretNames, name)
	}
	if len(s.Secrets) > 0 {
		_, err := gemini.NewVerifier(s.Secrets...)
		problems = append(problems, problemsOf("OPLEDGER_WEBHOOK_SECRET", err)...)
	}
	return problems
}
