package webhooks

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The states of a webhook.
const (
	Enabled = "enabled"
	// Disabled: the operator switched it off.
	Disabled = "disabled"
	// DisabledByFailures: Gemini switched it off because its deliveries failed. The number of
	// failures is undocumented.
	DisabledByFailures = "disabled_due_to_failed_deliveries"
)

// Events returns every event in Gemini's documentation. Gemini accepts not all of them; see
// Client.Create.
func Events() []string {
	return append(AcceptedEvents(), "batch.cancelled", "interaction.cancelled")
}

// AcceptedEvents returns the events that Gemini was seen to accept. Reconciliation finds the
// completions without an event [R4].
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
	// URI is the address that Gemini delivers to.
	URI string `json:"uri"`
	// State is one of the constants, or another word of Gemini's.
	State  string   `json:"state"`
	Events []string `json:"events"`
	// Secrets are the secrets that sign its deliveries.
	Secrets []Secret `json:"secrets"`
}

// A Secret is a signing secret as Gemini lists it.
type Secret struct {
	// Truncated shows the last characters, as whsec_...3frh.
	Truncated string `json:"truncated"`
	// Expires is when Gemini stops signing with it; zero for the current one.
	Expires time.Time `json:"expires,omitzero"`
}

// Of reports whether the listed secret may be this one: the characters that it shows are the same.
func (s Secret) Of(secret string) bool {
	head, tail, cut := strings.Cut(s.Truncated, "...")
	if !cut {
		return s.Truncated != "" && s.Truncated == secret
	}
	return tail != "" && len(secret) >= len(head)+len(tail) && strings.HasPrefix(secret, head) &&
		strings.HasSuffix(secret, tail)
}

// documented reports whether the secret is shown as Gemini documents it: its beginning, and its last four characters
// at least. Any other form says nothing about which secret it is.
func (s Secret) documented() bool {
	head, tail, cut := strings.Cut(s.Truncated, "...")
	return cut && head == "whsec_" && len(tail) >= 4
}

// Unknown returns a secret that signs the webhook's deliveries at that time, if Gemini lists what signs them, and none
// of it may be one of these secrets: then a webhook that verifies with these refuses every delivery.
func (w Webhook) Unknown(known []string, at time.Time) (signs Secret, unknown bool) {
	for _, listed := range w.Secrets {
		if !listed.Expires.IsZero() && !listed.Expires.After(at) {
			continue
		}
		if !listed.documented() || slices.ContainsFunc(known, listed.Of) {
			return Secret{}, false
		}
		signs, unknown = listed, true
	}
	return signs, unknown
}

// A wire is a webhook as Gemini writes it.
type wire struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	URI            string   `json:"uri"`
	State          string   `json:"state"`
	Events         []string `json:"subscribed_events"`
	SigningSecrets []struct {
		Truncated string    `json:"truncated_secret"`
		Expires   time.Time `json:"expire_time"`
	} `json:"signing_secrets"`
	// NewSecret is the whole secret, in the answer to a creation alone.
	NewSecret string `json:"new_signing_secret"`
}

// webhook converts what Gemini wrote. Missing lists are empty.
func (w wire) webhook() Webhook {
	hook := Webhook{
		ID: w.ID, Name: w.Name, URI: w.URI, State: w.State, Events: append([]string{}, w.Events...), Secrets: []Secret{},
	}
	for _, secret := range w.SigningSecrets {
		hook.Secrets = append(hook.Secrets, Secret(secret))
	}
	return hook
}

// SameURL reports whether two addresses are the same target. It ignores the case of the host, port
// 443, and whether an empty path is /.
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
	u.Path = cmp.Or(u.Path, "/")
	return u.String()
}
