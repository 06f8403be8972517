// Package confirm handles unverified deliveries: it asks Gemini about the operation that one names.
//
// A delivery is unverified, a Hint in this code, if its signature does not cover its body. Anyone
// who has seen one such delivery can send another body with it. So the body only names an operation
// to look up. Gemini's answer is ingested like any other event [M7], under the delivery's own id,
// so that a redelivery of the same hint is a duplicate [W4].
//
// The cost of hints is bounded. There is one look-up at a time per operation and one per gap, at
// most 16 at once, a rate for the hints of one token, and a rate for all. A hint beyond these
// bounds makes a registered operation due, so that the next pass looks it up; any other hint must
// be redelivered. Nothing is created for an operation that Gemini does not know. But if the sender
// proved the correlation id of an open intent, the name is kept with the intent, and passes look it
// up.
package confirm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/lazy"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The outcomes of a hint, beside those of ledger.Ingest. The receipt has the reason, too.
const (
	// Ignored: it changed nothing.
	Ignored ledger.Outcome = "ignored"
	// Kept: Gemini does not know the name, which is kept with the open intent for passes to look
	// up.
	Kept ledger.Outcome = "kept"
)

// The reasons for which a hint is ignored, beside those of the look-up.
const (
	DueNow  operation.Reason = "due-now" // no look-up now; the next pass makes one
	Settled operation.Reason = "settled" // no look-up now, and the operation has ended
)

// An UnconfirmedError says that there was no look-up, or an inconclusive one. The delivery must be
// redelivered.
type UnconfirmedError struct {
	Operation operation.Key
	// Reason is one of lookup's, or AskedLately, Busy, NotYet or NoClient.
	Reason string
	// RetryAfter is the least time to wait.
	RetryAfter time.Duration
	// Err is why the look-up was inconclusive; nil if there was none.
	Err error
}

func (e *UnconfirmedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("what the delivery says of %s is not confirmed yet (%s)", e.Operation, e.Reason)
	}
	return fmt.Sprintf("Gemini could not confirm what the delivery says of %s (%s)", e.Operation, e.Reason)
}

// Unwrap returns why the look-up was inconclusive.
func (e *UnconfirmedError) Unwrap() error { return e.Err }

// The reasons for a redelivery, beside those of the look-up. The first four are about an operation
// that no pass looks up.
const (
	AskedLately = "asked-lately" // the last look-up is less than the gap ago
	Busy        = "busy"         // too many look-ups are under way
	NotYet      = "not-yet"      // Gemini does not show yet that an abandoned operation has ended
	// TokenLimit: the hints of the token have used up their rate.
	TokenLimit = "token-limit"
	// ProcessLimit: the hints of this process have used up their rate.
	ProcessLimit = "process-limit"
	NoClient     = "no-client" // there is no client: the API key could not be read
	// TooManyNames: Gemini does not know the name, and its intent has no room for another.
	TooManyNames = "too-many-names"
)

// DefaultGap is the least time between two look-ups of one operation.
const DefaultGap = 30 * time.Second

// lookupTimeout bounds one look-up, because the sender waits a few seconds only.
const lookupTimeout = 5 * time.Second

// Options are what a Confirmer works with.
type Options struct {
	Ledger *ledger.Ledger
	// Gemini returns the client for look-ups. It is called for the first hint, and again while it
	// fails, never concurrently. So a verified delivery does not wait for an API key.
	Gemini func(context.Context) (*lookup.Client, error)
	// Gap is the least time between two look-ups of one operation; 0: DefaultGap.
	Gap time.Duration
	Now func() time.Time
}

// A Confirmer looks up the operations that hints name. It is safe for concurrent use.
type Confirmer struct {
	ledger  *ledger.Ledger
	connect func(context.Context) (*lookup.Client, error)
	turns   *turns
	now     func() time.Time

	client lazy.Value[*lookup.Client]
}

// New returns a Confirmer.
func New(o Options) *Confirmer {
	return &Confirmer{ledger: o.Ledger, connect: o.Gemini, turns: newTurns(cmp.Or(o.Gap, DefaultGap)), now: o.Now}
}

// A Hint is an unverified delivery.
type Hint struct {
	// Event is decoded from its body. Its correlation id only helps to find the operation.
	operation.Event
	// Vouched is the correlation id that the sender's token proves, if any.
	Vouched string
	// Token identifies the sender's token; the hints of one token have a rate of their own. Empty:
	// only the rate for all applies.
	Token string
}

// Confirm looks up the operation that a hint names, and ingests the answer.
//
// The receipt is that of Ingest, or has the outcome Ignored or Kept with a reason. Errors:
// *UnconfirmedError, and those of Ingest. A retry with the same delivery is safe.
func (c *Confirmer) Confirm(ctx context.Context, hint Hint) (ledger.Receipt, error) {
	e, vouched := hint.Event, hint.Vouched
	found, err := c.ledger.Operations.ReadUnverified(ctx, e.Name, e.CorrelationID, e.DeliveryID)
	if err != nil {
		return ledger.Receipt{Key: e.Key}, err
	}
	receipt := ledger.Receipt{
		Key: found.Name.Key, Registered: found.Record.Registered, State: found.Record.State, Disputed: found.Disputed,
		CorrelationID: found.Record.CorrelationID,
	}
	if found.Duplicate {
		receipt.Outcome = ledger.Duplicate
		return receipt, nil
	}
	leave, why := c.turns.enter(receipt.Key, hint.Token, c.now())
	if leave == nil {
		return c.later(ctx, receipt, found.Record, why)
	}
	defer leave()
	if err := c.makeDueNow(ctx, found.Disputed); err != nil {
		return receipt, err
	}
	answer, err := c.lookup(ctx, found.Name)
	if err != nil {
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: NoClient, RetryAfter: c.turns.gap, Err: err}
	}
	switch {
	case found.Record.Abandoned != nil && e.State.Terminal() && notYet(answer):
		// Passes no longer look it up, so only this delivery or its redelivery can report the end
		// [R4].
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: NotYet, RetryAfter: c.turns.gap}
	case answer.Known(), found.Waiting && vouched != "" && answer.Exists(): // an intent is bound even without a state
		return c.ingest(ctx, e, found.Name, answer, vouched)
	case found.Waiting && vouched != "" && answer.Reason == lookup.NotFound:
		return c.keep(ctx, receipt, found.Name, vouched)
	case answer.Reason == lookup.NotFound, answer.Reason == lookup.InvalidName, answer.Reason == lookup.Unsupported:
		// A redelivery would not help. Passes look up a registered operation anyway.
		receipt.Outcome, receipt.Reason = Ignored, operation.Reason(answer.Reason)
		return receipt, nil
	default:
		return receipt, &UnconfirmedError{
			Operation: receipt.Key, Reason: answer.Reason, RetryAfter: max(answer.RetryAfter, c.turns.gap), Err: answer.Err,
		}
	}
}

// notYet reports whether Gemini may show a terminal state later. A live operation was seen to be
// not found for days.
func notYet(answer lookup.Answer) bool {
	return answer.Reason == lookup.NotFound || answer.Known() && !answer.State.Terminal()
}

// lookup looks the operation up within lookupTimeout.
func (c *Confirmer) lookup(ctx context.Context, name operation.Name) (lookup.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	client, err := c.client.Get(ctx, c.connect)
	if err != nil {
		return lookup.Answer{}, err
	}
	return client.Lookup(ctx, name), nil
}

// ingest ingests Gemini's answer under the id of the delivery.
func (c *Confirmer) ingest(
	ctx context.Context, e operation.Event, name operation.Name, answer lookup.Answer, vouched string,
) (ledger.Receipt, error) {
	said := answer.Event(name)
	said.DeliveryID, said.Source, said.Type = e.DeliveryID, operation.Webhook, e.Type
	said.CorrelationID = cmp.Or(said.CorrelationID, vouched)
	receipt, err := c.ledger.Operations.Ingest(ctx, said)
	if err != nil || !e.State.Terminal() || receipt.State.Terminal() || !receipt.Registered {
		return receipt, err
	}
	// Gemini does not show yet the terminal state that the delivery reports, and a redelivery will
	// be a duplicate.
	_, err = c.ledger.Operations.MakeDueNow(ctx, receipt.Key)
	return receipt, err
}

// keep keeps a name that Gemini does not know with the open intent of the vouched id. A live
// operation was seen to be not found for days, and for one that cannot be listed the delivery may
// be the only evidence. The sender proved the id but not the name, so only Gemini's answer binds
// it.
func (c *Confirmer) keep(
	ctx context.Context, receipt ledger.Receipt, name operation.Name, vouched string,
) (ledger.Receipt, error) {
	kept, err := c.ledger.Intents.KeepName(ctx, vouched, name)
	if err != nil {
		return receipt, err
	}
	if !kept {
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: TooManyNames, RetryAfter: c.turns.gap}
	}
	receipt.Outcome, receipt.Reason = Kept, operation.Reason(lookup.NotFound)
	return receipt, nil
}

// makeDueNow makes a pending operation due whose correlation id came with another operation's name.
// An empty key, an unknown operation and one of a newer revision are no errors.
func (c *Confirmer) makeDueNow(ctx context.Context, key operation.Key) error {
	if key == "" {
		return nil
	}
	_, err := c.ledger.Operations.MakeDueNow(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrNewer) {
		return nil // it has expired, and its intent not yet; or a newer revision looks it up
	}
	return err
}

// later returns the receipt or error for a hint without a look-up.
func (c *Confirmer) later(
	ctx context.Context, receipt ledger.Receipt, rec operation.Record, why string,
) (ledger.Receipt, error) {
	receipt.Outcome = Ignored
	switch {
	case rec.Settled():
		receipt.Reason = Settled
		return receipt, nil
	case !rec.DueAt.IsZero():
		receipt.Reason = DueNow
		_, err := c.ledger.Operations.MakeDueNow(ctx, receipt.Key)
		return receipt, err
	default: // no pass looks it up: it is unregistered or abandoned
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: why, RetryAfter: c.turns.gap}
	}
}
