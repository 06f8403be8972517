package config

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/opledger/opledger/shared/diag"
)

// Discovery is what reconciliation does about unregistered batches.
type Discovery struct {
	// Adopt registers batches that are in Gemini's list and that no submitter registered.
	Adopt bool `env:"OPLEDGER_ADOPT" envDefault:"false"`
}

// A WebhookKind says which webhook there should be at Gemini.
type WebhookKind string

// The kinds. A static webhook is created once and delivers every event of the API key's project. A
// dynamic one is named in each request that submits an operation.
const (
	WebhookStatic  WebhookKind = "static"
	WebhookDynamic WebhookKind = "dynamic"
	WebhookNone    WebhookKind = "none"
)

// UnmarshalText reads "static", "dynamic" or "none".
func (k *WebhookKind) UnmarshalText(text []byte) error {
	switch *k = WebhookKind(text); *k {
	case WebhookStatic, WebhookDynamic, WebhookNone:
		return nil
	default:
		return fmt.Errorf("it must be static, dynamic or none, not %s", diag.Quote(string(text)))
	}
}

// Endpoint is the webhook at Gemini: its kind, its address, and whether it may be enabled again.
type Endpoint struct {
	// Kind is which webhook there should be at Gemini: static (made once), dynamic (named in each
	// submission) or none. Only a static one is checked, once its secret has a version.
	Kind WebhookKind `env:"OPLEDGER_WEBHOOK" envDefault:"static" secret:"no"`
	// URL is the https address that Gemini delivers to. Passes check that its webhook exists, is enabled, and signs with
	// the webhook's secret; without it, that one of Gemini's does.
	URL string `env:"OPLEDGER_WEBHOOK_URL" secret:"no"`
	// Reenable lets a pass enable the webhook after Gemini disabled it; needs the URL.
	Reenable bool `env:"OPLEDGER_WEBHOOK_REENABLE" envDefault:"false"`
}

// Static reports whether reconciliation asks Gemini about static webhooks: about the one with the URL, or else whether
// one signs with the webhook's secret.
func (e *Endpoint) Static() bool { return e.Kind == WebhookStatic }

// Dynamic reports whether events are delivered by dynamic webhooks, which no one request can check.
func (e *Endpoint) Dynamic() bool { return e.Kind == WebhookDynamic && e.URL != "" }

func (e *Endpoint) validate(p *diag.Problems) {
	if e.URL != "" {
		p.Of("OPLEDGER_WEBHOOK_URL", CheckWebhookURL(e.URL))
	}
	p.When(e.Reenable && e.URL == "",
		"OPLEDGER_WEBHOOK_REENABLE: it needs OPLEDGER_WEBHOOK_URL, by which the webhook is found")
	p.When(e.Reenable && (e.Kind == WebhookDynamic || e.Kind == WebhookNone),
		"OPLEDGER_WEBHOOK_REENABLE: it needs a static webhook, and OPLEDGER_WEBHOOK is %s", e.Kind)
}

// CheckWebhookURL returns nil for an address that Gemini can deliver to. The error does not repeat
// the address, which may hold a password.
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
