package canary

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A description is what Webhook logged about one delivery of the batch.
type description struct {
	repeated, refused       bool
	idForm, signature       string
	paths, claims, headers  []string
	timestampAge, arrivedAt time.Duration // since the step began
}

// A sight is everything that was seen of Gemini's deliveries.
type sight struct {
	first, again *description
	ping         []string // its key paths; nil: not seen
}

// described waits for the description of the first delivery, and of its redelivery where it was
// refused.
func (c *Canary) described(ctx context.Context, s *Step, key operation.Key, since time.Time) (sight, error) {
	var seen sight
	service := c.Place.name("webhook")
	look := func(deliveries int) func() (bool, error) {
		return func() (bool, error) {
			lines, err := c.Google.lines(ctx, c.Place.Project, service, since, "canary", []string{"described"},
				equals("jsonPayload.operation", string(key)))
			slices.Reverse(lines) // the oldest first
			if len(lines) > 0 {
				seen.first = describedIn(lines[0], since)
			}
			if len(lines) > 1 {
				seen.again = describedIn(lines[1], since)
			}
			return len(lines) >= deliveries, err
		}
	}
	found, err := c.await(ctx, oneMinute, look(1))
	if err != nil {
		return seen, err
	}
	if !found {
		return seen, c.unseen(ctx, service, since, "the event is in the ledger, and %s has not logged its form", service)
	}
	if !seen.first.refused {
		s.did("a pass settled the batch before its event, so no delivery was refused, and none is redelivered")
		return seen, nil
	}
	if found, err = c.await(ctx, redeliveryLimit, look(2)); err != nil {
		return seen, err
	}
	if !found {
		s.did("Gemini has not redelivered within %s what was refused once; if it comes, it leaves an unregistered record, "+
			"which expires after the retention", redeliveryLimit)
		return seen, nil
	}
	s.Hops = append(s.Hops, Hop{
		From: "refused once", To: "redelivered", Seconds: (seen.again.arrivedAt - seen.first.arrivedAt).Seconds(),
	})
	return seen, nil
}

func describedIn(l line, since time.Time) *description {
	age, _ := l.JSONPayload["timestamp_age_s"].(float64)
	repeated, _ := l.JSONPayload["repeated"].(bool)
	refused, _ := l.JSONPayload["refused"].(bool)
	return &description{
		repeated: repeated, refused: refused, idForm: l.text("id_form"), signature: l.text("signature"),
		paths: l.texts("paths"), claims: l.texts("claims"), headers: l.texts("headers"),
		timestampAge: time.Duration(age) * time.Second, arrivedAt: l.Timestamp.Sub(since),
	}
}

func (l line) texts(field string) []string {
	list, _ := l.JSONPayload[field].([]any)
	texts := make([]string, 0, len(list))
	for _, one := range list {
		texts = append(texts, fmt.Sprint(one))
	}
	return texts
}

// ping makes Gemini send a ping, and returns the key paths of its body, which is found in
// quarantine. What surely is a ping is removed from there.
func (c *Canary) ping(ctx context.Context, s *Step, hook string) ([]string, error) {
	since, err := c.storeTime(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Spend.Webhooks.Ping(ctx, hook); err != nil {
		return nil, cut("opledger webhook check", "Gemini did not send a ping: %w", err)
	}
	var came *ledger.Quarantined
	_, err = c.await(ctx, pingLimit, func() (bool, error) {
		page, err := c.Ledger.ListQuarantined(ctx, ledger.QuarantineFilter{Limit: 10})
		if err != nil {
			return false, cut("the database in OPLEDGER_STORE", "the ping cannot be looked up: %w", err)
		}
		for _, q := range page.Items {
			if !q.ReceivedAt.Before(since) && (came == nil || isPing(q)) {
				came = &q
			}
		}
		return came != nil, nil
	})
	if err != nil {
		return nil, err
	}
	if came == nil {
		s.did("a ping was asked for, and nothing came to quarantine within %s", pingLimit)
		return nil, nil
	}
	_, body, err := c.Ledger.ReadQuarantined(ctx, came.ID)
	if err == nil && isPing(*came) {
		clean, cancel := cleanUp(ctx)
		defer cancel()
		err = c.Ledger.ForgetQuarantined(clean, came.ID)
		s.did("a ping came, was described, and removed from quarantine")
	} else if err == nil {
		s.did("what came after a ping was asked for, a delivery that is %s, stays in quarantine", came.Reason)
	}
	if err != nil {
		return nil, cut("opledger quarantine show "+came.ID, "the ping was not read and removed: %w", err)
	}
	return gemini.KeyPaths(body), nil
}

// isPing reports whether a delivery is a ping by its own word. Anything else may be a completion.
func isPing(q ledger.Quarantined) bool { return strings.Contains(q.Type, "ping") }
