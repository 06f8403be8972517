package webhooks

import (
	"net/url"
	"strings"
	"time"

	sdk "google.golang.org/genai/interactions/models/webhooks"
)

// The states of a webhook.
const (
	Enabled = "enabled"
	// Disabled: the operator switched it off.
	Disabled = "disabled"
	// DisabledByFailures: Gemini switched it off, because its deliveries failed. How many it takes
	// is not published.
	DisabledByFailures = "disabled_due_to_failed_deliveries"
)

// Events returns every event that Gemini's pages name. Which of them a webhook may subscribe to
// Gemini says when it is created.
func Events() []string {
	return append(AcceptedEvents(), "batch.cancelled", "interaction.cancelled")
}

// AcceptedEvents returns the events that Gemini was seen to accept. The ends that have none are
// found by reconciliation [R4].
func AcceptedEvents() []string {
	return []string{
		"batch.succeeded", "batch.failed", "batch.expired",
		"interaction.completed", "interaction.failed", "interaction.requires_action",
		"video.generated",
	}
}

// A Webhook is one that is registered at Gemini.
type Webhook struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// URI is where Gemini delivers to.
	URI string `json:"uri"`
	// State is one of the constants, or a word that Gemini has added since.
	State  string   `json:"state"`
	Events []string `json:"events"`
	// Secrets are those that deliveries are signed with.
	Secrets []Secret `json:"secrets"`
}

// A Secret is a signing secret as Gemini lists it.
type Secret struct {
	// Truncated shows the last characters, as whsec_...3frh.
	Truncated string `json:"truncated"`
	// Expires is when Gemini stops signing with it; zero for the current one.
	Expires time.Time `json:"expires,omitzero"`
}

// Of reports whether the listed secret may be this one: as far as its characters are shown, they
// are the same.
func (s Secret) Of(secret string) bool {
	head, tail, cut := strings.Cut(s.Truncated, "...")
	if !cut {
		return s.Truncated != "" && s.Truncated == secret
	}
	return tail != "" && len(secret) >= len(head)+len(tail) && strings.HasPrefix(secret, head) && strings.HasSuffix(secret, tail)
}

// fromSDK reads what the SDK gives; what is missing is empty.
func fromSDK(w *sdk.Webhook) Webhook {
	hook := Webhook{Events: []string{}, Secrets: []Secret{}}
	if w == nil {
		return hook
	}
	hook.ID, hook.Name, hook.URI, hook.State = value(w.ID), value(w.Name), w.URI, string(value(w.State))
	for _, event := range w.SubscribedEvents {
		hook.Events = append(hook.Events, string(event))
	}
	for _, secret := range w.SigningSecrets {
		hook.Secrets = append(hook.Secrets, Secret{Truncated: value(secret.TruncatedSecret), Expires: value(secret.ExpireTime)})
	}
	return hook
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// SameURL reports whether two addresses are one to deliver to: the case of the host, its usual port
// and an empty path make no difference.
func SameURL(a, b string) bool { return plain(a) == plain(b) }

func plain(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	u.Host = host
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}
