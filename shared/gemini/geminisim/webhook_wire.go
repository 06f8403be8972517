package geminisim

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Events are the event types that a webhook can subscribe to: the list of SDK v1.77.0 and of the
// REST reference. Config.NineEvents adds two.
func Events() []string {
	return []string{
		"batch.succeeded", "batch.expired", "batch.failed",
		"interaction.requires_action", "interaction.completed", "interaction.failed",
		"video.generated",
	}
}

// subscribable are the events that this simulator's webhooks can subscribe to.
func (s *Sim) subscribable() []string {
	known := Events()
	if s.cfg.NineEvents {
		known = append(known, cancelledEvents[StateCancelled], cancelledEvents[InteractionCancelled])
	}
	return known
}

// States of a webhook (documented).
const (
	WebhookEnabled                       = "enabled"
	WebhookDisabled                      = "disabled"
	WebhookDisabledDueToFailedDeliveries = "disabled_due_to_failed_deliveries"
)

// Values of revocation_behavior. The first is the default.
const (
	revokeAfter24h    = "revoke_previous_secrets_after_h24"
	revokeImmediately = "revoke_previous_secrets_immediately"
)

// webhook is one registered endpoint, guarded by Sim.mu.
type webhook struct {
	id      string
	nth     int // how many were created before
	name    string
	uri     string
	events  []string
	state   string
	secrets []secret // newest first
	rotated int
	deleted bool
}

type secret struct {
	text   string
	expire time.Time // zero: not yet
}

// valid returns the texts of the secrets that have not expired, newest first.
func (h *webhook) valid(now time.Time) []string {
	var texts []string
	for _, sec := range h.secrets {
		if sec.expire.IsZero() || now.Before(sec.expire) {
			texts = append(texts, sec.text)
		}
	}
	return texts
}

// The JSON of webhooks is snake_case, in requests too: camelCase keys are refused, as reported of
// the live API. create_time and update_time are in the SDK's type but were never seen live, so that
// they are not sent.
type webhookJSON struct {
	ID               string       `json:"id"`
	Name             string       `json:"name,omitempty"`
	URI              string       `json:"uri"`
	SubscribedEvents []string     `json:"subscribed_events"`
	State            string       `json:"state"`
	SigningSecrets   []secretJSON `json:"signing_secrets,omitempty"`
	NewSigningSecret string       `json:"new_signing_secret,omitempty"`
}

type secretJSON struct {
	TruncatedSecret string    `json:"truncated_secret"`
	ExpireTime      time.Time `json:"expire_time,omitzero"`
}

// webhookBody is the body of create and update. A nil field is absent.
type webhookBody struct {
	Name             *string   `json:"name"`
	URI              *string   `json:"uri"`
	SubscribedEvents *[]string `json:"subscribed_events"`
	State            *string   `json:"state"`
}

// check refuses what the API would refuse, "" if nothing. known are the events that can be
// subscribed to.
func (b *webhookBody) check(known []string) string {
	if b.URI != nil {
		u, err := url.Parse(*b.URI)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			// Only the simulator accepts http, for receivers on loopback.
			return "uri must be an absolute https or http URL."
		}
	}
	if b.SubscribedEvents != nil {
		if len(*b.SubscribedEvents) == 0 {
			return "subscribed_events must name at least one event."
		}
		for _, e := range *b.SubscribedEvents {
			if !slices.Contains(known, e) {
				return fmt.Sprintf("Invalid value %q in subscribed_events. Supported values: %s.", e, strings.Join(known, ", "))
			}
		}
	}
	if b.State != nil && *b.State != WebhookEnabled && *b.State != WebhookDisabled {
		return fmt.Sprintf("Invalid value %q for state. Supported values: enabled, disabled.", *b.State)
	}
	return ""
}

// apply changes the fields that the body has.
func (b *webhookBody) apply(h *webhook) {
	if b.Name != nil {
		h.name = *b.Name
	}
	if b.URI != nil {
		h.uri = *b.URI
	}
	if b.SubscribedEvents != nil {
		h.events = *b.SubscribedEvents
	}
	if b.State != nil {
		h.state = *b.State
	}
}
