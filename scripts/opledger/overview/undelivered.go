package overview

import (
	"context"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Undelivered are the newest completions within UndeliveredFor that Gemini has an event for and that look-ups found, up
// to the newest that a delivery reported. Where they are many, deliveries may not arrive.
type Undelivered struct {
	Count int       `json:"count"`
	Since time.Time `json:"since,omitzero"` // when the first of them was found
	// Partial: there are more than were read.
	Partial bool `json:"partial,omitempty"`
}

const (
	// UndeliveredFor is for how long a completion shows whether deliveries arrive.
	UndeliveredFor = 24 * time.Hour
	// fewUndelivered may be those of one outage or of one late delivery, as in the deployed alert.
	fewUndelivered = 10
	// mostUndelivered is how many of the newest completions are read.
	mostUndelivered = 50
)

// readUndelivered reads whether deliveries report completions, where the last pass saw the webhook enabled.
func (o *Overview) readUndelivered(ctx context.Context, l ledger.Reading) error {
	if o.LastPass.Webhook != ledger.WebhookEnabled {
		return nil
	}
	page, err := l.Operations.Ends(ctx, ledger.Cursor{}, mostUndelivered)
	if err != nil {
		return err
	}
	o.Undelivered = undelivered(page.Items, o.At.Add(-UndeliveredFor))
	o.Undelivered.Partial = o.Undelivered.Count > 0 && len(page.Items) == mostUndelivered &&
		o.Undelivered.Since.Equal(page.Items[len(page.Items)-1].SettledAt)
	return nil
}

// undelivered returns what look-ups found since then, newest first, up to the newest that a delivery reported.
func undelivered(ends []operation.Record, since time.Time) (u Undelivered) {
	for _, r := range ends {
		switch {
		case r.SettledAt.Before(since), r.SettledBy == operation.Webhook && !r.Key.IsCanary():
			return u
		case r.SettledBy == operation.Reconcile && operation.Announced(r.Key, r.State, r.Result):
			u.Count, u.Since = u.Count+1, r.SettledAt
		}
	}
	return u
}

// noteUndelivered adds that no delivery reports a completion. Nothing is lost by it: each is known later.
func (o *Overview) noteUndelivered(add adder) {
	u := o.Undelivered
	if u.Count < fewUndelivered {
		return
	}
	add(true, AboutWebhook, "webhook check", "the webhook is enabled, and look-ups found the newest %s, since %s: no "+
		"delivery reported one", AtLeast(u.Partial, phrase.Counted(u.Count, "completion")),
		phrase.LocalTime(u.Since)).Playbook = "undelivered"
}
