package overview

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Refused are the deliveries that the webhook of serve refused since it last accepted one, as far as
// the last of them is no older than ledger.RefusalsFor [W1]. Some may be strangers'.
type Refused struct {
	Count  int       `json:"count"`
	Reason string    `json:"reason,omitempty"` // of the last
	Since  time.Time `json:"since,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	// Unannounced counts the newest completions since then, where look-ups found every one of them: so
	// Gemini's own deliveries are among those refused.
	Unannounced int `json:"unannounced"`
}

// mostEnds is how many of the newest completions are read where deliveries were refused.
const mostEnds = 5

func (o *Overview) readRefused(ctx context.Context, l ledger.Reading, _ int) error {
	refusals, err := l.Passes.Refusals(ctx)
	if unreadable, ok := errors.AsType[ledger.Broken](err); ok {
		o.Broken = append(o.Broken, unreadable)
		return nil
	}
	if err != nil || refusals.Count == 0 || o.At.Sub(refusals.LastAt) > ledger.RefusalsFor {
		return err
	}
	o.Refused = Refused{
		Count: refusals.Count, Reason: refusals.Reason, Since: refusals.FirstAt, Last: refusals.LastAt,
	}
	page, err := l.Operations.Ends(ctx, ledger.Cursor{}, mostEnds)
	if err != nil {
		return err
	}
	o.Refused.Unannounced = unannounced(page.Items, refusals.FirstAt)
	return nil
}

// unannounced counts the completions since then, newest first; 0 where a delivery reported one of
// them.
func unannounced(ends []operation.Record, since time.Time) (n int) {
	for _, r := range ends {
		switch {
		case r.SettledAt.Before(since):
			return n
		case r.SettledBy == operation.Webhook && !r.Key.IsCanary():
			return 0
		case r.SettledBy == operation.Reconcile:
			n++
		}
	}
	return n
}

// fewRefused may be a scanner's, as in the deployed alert. Gemini redelivers what is refused.
const fewRefused = 2

// whyRefused says why the webhook refused a delivery. Its words for that are in refusal.go of its function.
var whyRefused = map[string]string{
	"signature":       "the signature does not fit: has the webhook Gemini's secret?",
	"no-secret":       "nothing could be verified: OPLEDGER_WEBHOOK_SECRET is not set",
	"unavailable":     "nothing could be verified: the secrets or keys cannot be read",
	"no-audience":     "the token could not be verified: OPLEDGER_WEBHOOK_AUDIENCE is not set",
	"stale-timestamp": "the signature fits, and it is too old: is the clock right?",
	"old-token":       "the signature fits, and it is too old: is the clock right?",
}

// explained reports whether the last pass explains refusals for a reason: judgePass says that the secret is the wrong
// one, or Gemini has no webhook, so that only strangers were refused.
func (o *Overview) explained(reason string) bool {
	switch reason {
	case "signature":
		return o.LastPass.WrongSecret != nil || o.LastPass.NoWebhook
	case "no-secret":
		return o.LastPass.NoWebhook
	default: // for those the sender had a token, or the right secret
		return false
	}
}

// judgeRefused adds that Gemini's deliveries are refused. Requests of strangers alone need no
// operator, and neither does a completion that a look-up finds now and then.
func (o *Overview) judgeRefused(add adder) {
	r := o.Refused
	if r.Count <= fewRefused || r.Unannounced == 0 || o.explained(r.Reason) {
		return
	}
	command, why := "webhook check", cmp.Or(whyRefused[r.Reason], phrase.Safe(r.Reason))
	if r.Reason == "signature" && r.Last.Before(o.LastPass.SecretFitsAt) {
		command, why = "webhook ping", "the signature did not fit; a pass has found since then that the webhook has "+
			"Gemini's secret: this ends with the next delivery that it accepts, such as that of opledger webhook ping"
	}
	add(true, AboutWebhook, command,
		"the webhook refused %s in %s and accepted none, and look-ups found every completion; of the last, %s",
		phrase.Counted(r.Count, "request"), o.since(r.Since), why).Playbook = "refused"
}
