package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/secret"
)

// Gemini is how Gemini is asked: where, and with which API key. The key is given itself, or as the name of its secret.
type Gemini struct {
	APIKey       string `env:"GEMINI_API_KEY"`
	APIKeySecret string `env:"OPLEDGER_GEMINI_API_KEY_SECRET"`
	BaseURL      string `env:"GOOGLE_GEMINI_BASE_URL"`
	// SecretEmulator is where the secret is, for a test; empty: in Google's Secret Manager.
	SecretEmulator string `env:"SECRET_MANAGER_EMULATOR_HOST"`
}

// IsSet reports whether there is an API key, or the name of one's secret. A command that does not ask Gemini has
// neither.
func (g Gemini) IsSet() bool { return g.APIKey != "" || g.APIKeySecret != "" }

func (g *Gemini) validate() []error {
	var problems []error
	key := strings.TrimSpace(g.APIKey)
	switch {
	case key == "" && g.APIKeySecret == "":
		problems = append(problems, errors.New("GEMINI_API_KEY: it is not set; Gemini is asked with it; "+
			"set it, or OPLEDGER_GEMINI_API_KEY_SECRET to the name of its secret"))
	case key != "" && g.APIKeySecret != "":
		problems = append(problems,
			errors.New("OPLEDGER_GEMINI_API_KEY_SECRET: GEMINI_API_KEY is set too; set only one of them"))
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		problems = append(problems, errors.New("GEMINI_API_KEY: it holds characters that no key has"))
	}
	if g.APIKeySecret != "" {
		_, err := secret.ParseName(g.APIKeySecret)
		problems = append(problems, problemsOf("OPLEDGER_GEMINI_API_KEY_SECRET", err)...)
	}
	if g.BaseURL != "" {
		problems = append(problems, problemsOf("GOOGLE_GEMINI_BASE_URL", api.CheckBaseURL(g.BaseURL))...)
	}
	return problems
}

// Discovery is what is done about unregistered batches.
type Discovery struct {
	Adopt bool `env:"OPLEDGER_ADOPT" envDefault:"false"`
}

// A WebhookKind says which webhook there is to be at Gemini.
type WebhookKind string

// The kinds. A static webhook is made once, with `opledger webhook create`, and delivers everything of the API key's
// project; a dynamic one is named in each request that submits an operation.
const (
	WebhookStatic  WebhookKind = "static"
	WebhookDynamic WebhookKind = "dynamic"
	WebhookNone    WebhookKind = "none"
)

// Endpoint is the webhook at Gemini's side: which kind there is to be, where it delivers to, and what may be done
// about it.
type Endpoint struct {
	Kind WebhookKind `env:"OPLEDGER_WEBHOOK" envDefault:"static"`
	// URL is the address of the webhook function; empty: not known.
	URL string `env:"OPLEDGER_WEBHOOK_URL"`
	// Reenable lets reconcile enable the webhook again after Gemini disabled it.
	Reenable bool `env:"OPLEDGER_WEBHOOK_REENABLE" envDefault:"false"`
}

// Checked reports whether there is a static webhook to look for at Gemini.
func (e *Endpoint) Checked() bool { return e.Kind == WebhookStatic && e.URL != "" }

func (e *Endpoint) validate() []error {
	var problems []error
	switch e.Kind {
	case WebhookStatic, WebhookDynamic, WebhookNone:
	default:
		problems = append(problems, fmt.Errorf("OPLEDGER_WEBHOOK: it must be static, dynamic or none, not %s",
			diag.Quote(string(e.Kind))))
	}
	if e.URL != "" {
		problems = append(problems, problemsOf("OPLEDGER_WEBHOOK_URL", CheckWebhookURL(e.URL))...)
	}
	if e.Reenable && e.URL == "" {
		problems = append(problems,
			errors.New("OPLEDGER_WEBHOOK_REENABLE: it needs OPLEDGER_WEBHOOK_URL, by which the webhook is found"))
	}
	if e.Reenable && (e.Kind == WebhookDynamic || e.Kind == WebhookNone) {
		problems = append(problems,
			fmt.Errorf("OPLEDGER_WEBHOOK_REENABLE: it needs a static webhook, and OPLEDGER_WEBHOOK is %s", e.Kind))
	}
	return problems
}

// CheckWebhookURL returns nil for an address that Gemini can deliver to. The error does not repeat it: it may hold a
// password.
func CheckWebhookURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		return errors.New("it must be an https URL with a host, such as https://webhook-abc-uc.a.run.app")
	case u.User != nil:
		return errors.New("it must not hold a user or a password: deliveries are signed")
	case u.Fragment != "":
		return errors.New("it must not have a fragment (#…)")
	default:
		return nil
	}
}
