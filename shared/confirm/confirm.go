// Package confirm makes of a delivery that is only a hint what Gemini itself says of the operation.
//
// A delivery is a hint where its signature does not cover its body: whoever has seen one such
// delivery can send another body with it. So nothing of the body is believed but that it is worth
// asking about the operation that it names. Gemini's answer goes through the same door as
// everything else [M7], under the delivery's own id, so that the same hint again is a duplicate
// [W4].
//
// What a hint can cost is bounded: one operation is asked about by one hint at a time and once in a
// while, and few operations at once; and the hints of one token, then those of all, by rate. A hint
// that comes sooner makes a registered operation due, for the next pass to ask about; any other is
// to be delivered again. Of an operation that Gemini does not know, nothing is created; but where
// the sender vouches for the id of an intent that waits, the name is kept with the intent, and
// passes look it up.
package confirm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The outcomes of a hint, beside those of ledger.Ingest. The reason stands beside each.
const (
	// Ignored: it changed nothing.
	Ignored ledger.Outcome = "ignored"
	// Kept: Gemini does not know the name, and it is kept with the intent that waits for it: passes
	// look it up.
	Kept ledger.Outcome = "kept"
)

// The reasons for which a hint is ignored, beside those of the look-up.
const (
	DueNow  operation.Reason = "due-now" // not asked about now; the next pass asks
	Settled operation.Reason = "settled" // not asked about now, and the operation has ended
)

// An UnconfirmedError says that Gemini could not be asked, or not yet. The delivery must come
// again.
type UnconfirmedError struct {
	Operation operation.Key
	// Reason is one of lookup.Reasons, or AskedLately, Busy, NotYet or NoClient.
	Reason string
	// RetryAfter is how long to wait at least.
	RetryAfter time.Duration
	// Err is why Gemini could not say; nil where it was not asked.
	Err error
}

func (e *UnconfirmedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("what the delivery says of %s is not confirmed yet (%s)", e.Operation, e.Reason)
	}
	return fmt.Sprintf("Gemini could not confirm what the delivery says of %s (%s)", e.Operation, e.Reason)
}

// Unwrap returns why Gemini could not say.
func (e *UnconfirmedError) Unwrap() error { return e.Err }

// The reasons for which a delivery must come again, beside those of the look-up.
const (
	AskedLately = "asked-lately" // a moment ago, about an operation that no pass asks about
	Busy        = "busy"         // so many look-ups are under way that this one was not made, of such an operation
	NotYet      = "not-yet"      // it tells of an end that Gemini does not show, of an operation that somebody abandoned
	// TokenLimit: as many look-ups as the hints of one token may cause were made for it, of such an
	// operation.
	TokenLimit = "token-limit"
	// ProcessLimit: as many look-ups as hints may cause were made by this process, of such an
	// operation.
	ProcessLimit = "process-limit"
	NoClient     = "no-client" // there is nothing to ask with: the API key could not be read
	// TooManyNames: Gemini does not know the name, and its intent keeps as many others as it may.
	TooManyNames = "too-many-names"
)

// DefaultGap is how long an operation that a hint was about is not asked about because of another
// one.
const DefaultGap = 30 * time.Second

// askTimeout bounds one look-up: the sender wants its answer within seconds.
const askTimeout = 5 * time.Second

// Options are what a Confirmer works with.
type Options struct {
	Ledger *ledger.Ledger
	// Gemini returns what to ask with. It is called when the first hint comes, and again as long as
	// it fails, never twice at the same time: deliveries that are no hints do not wait for an API
	// key.
	Gemini func(context.Context) (*lookup.Client, error)
	// Gap is how long an operation is left alone after a look-up; 0: DefaultGap.
	Gap time.Duration
	Now func() time.Time
}

// A Confirmer asks Gemini about what hints name. It is safe for concurrent use.
type Confirmer struct {
	ledger  *ledger.Ledger
	connect func(context.Context) (*lookup.Client, error)
	turns   *turns
	now     func() time.Time

	mu     sync.Mutex
	client *lookup.Client // once there is one
}

// New returns a Confirmer.
func New(o Options) *Confirmer {
	return &Confirmer{ledger: o.Ledger, connect: o.Gemini, turns: newTurns(cmp.Or(o.Gap, DefaultGap)), now: o.Now}
}

// A Hint is a delivery that is not believed.
type Hint struct {
	// Event is what its body says. Its correlation id only helps to find out which operation is
	// meant.
	operation.Event
	// Vouched is the correlation id that the sender proved, if any.
	Vouched string
	// Token tells apart what senders proved themselves with: the hints of one have a rate of their
	// own. Empty: they only share that of all.
	Token string
}

// Confirm asks Gemini about the operation that a hint names, and ingests the answer.
//
// The receipt is that of Ingest, or says Ignored with a reason. Errors: *UnconfirmedError, and
// those of Ingest; the same delivery can be confirmed again without harm.
func (c *Confirmer) Confirm(ctx context.Context, hint Hint) (ledger.Receipt, error) {
	e, vouched := hint.Event, hint.Vouched
	found, err := c.ledger.ReadUnverified(ctx, e.Name, e.CorrelationID, e.DeliveryID)
	if err != nil {
		return ledger.Receipt{Key: e.Key}, err
	}
	receipt := ledger.Receipt{
		Key: found.Name.Key, Registered: found.Record.Registered, State: found.Record.State, Disputed: found.Disputed,
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
	answer, err := c.ask(ctx, found.Name)
	if err != nil {
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: NoClient, RetryAfter: c.turns.gap, Err: err}
	}
	switch {
	case found.Record.Abandoned != nil && e.State.Terminal() && notYet(answer):
		// No pass asks any more, so this delivery, or the same again, is what is left to tell of
		// the end [R4].
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: NotYet, RetryAfter: c.turns.gap}
	case answer.Known(), found.Waiting && vouched != "" && answer.Exists(): // an intent is bound without a state
		return c.ingest(ctx, e, found.Name, answer, vouched)
	case found.Waiting && vouched != "" && answer.Reason == lookup.NotFound:
		return c.keep(ctx, receipt, found.Name, vouched)
	case answer.Reason == lookup.NotFound, answer.Reason == lookup.InvalidName, answer.Reason == lookup.Unsupported:
		// To come again would not help. A registered operation is asked about by every pass anyway.
		receipt.Outcome, receipt.Reason = Ignored, operation.Reason(answer.Reason)
		return receipt, nil
	default:
		return receipt, &UnconfirmedError{
			Operation: receipt.Key, Reason: answer.Reason, RetryAfter: max(answer.RetryAfter, c.turns.gap), Err: answer.Err,
		}
	}
}

// notYet reports whether Gemini does not show an end that it may show later: a live operation was
// seen to be not found for days.
func notYet(answer lookup.Answer) bool {
	return answer.Reason == lookup.NotFound || answer.Known() && !answer.State.Terminal()
}

// ask looks the operation up within the time that the sender of a delivery waits.
func (c *Confirmer) ask(ctx context.Context, name operation.Name) (lookup.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client, err := c.gemini(ctx)
	if err != nil {
		return lookup.Answer{}, err
	}
	return client.Lookup(ctx, name), nil
}

// gemini returns the client, which it makes if there is none yet.
func (c *Confirmer) gemini(ctx context.Context) (*lookup.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		client, err := c.connect(ctx)
		if err != nil {
			return nil, err
		}
		c.client = client
	}
	return c.client, nil
}

// ingest ingests what Gemini said, as what this delivery brought.
func (c *Confirmer) ingest(ctx context.Context, e operation.Event, name operation.Name, answer lookup.Answer, vouched string) (ledger.Receipt, error) {
	said := answer.Event(name)
	said.DeliveryID, said.Source, said.Type = e.DeliveryID, operation.Webhook, e.Type
	said.CorrelationID = cmp.Or(said.CorrelationID, vouched)
	receipt, err := c.ledger.Ingest(ctx, said)
	if err != nil || !e.State.Terminal() || receipt.State.Terminal() || !receipt.Registered {
		return receipt, err
	}
	// The hint knows of an end that Gemini does not show yet; this delivery will be a duplicate
	// from now on.
	_, err = c.ledger.MakeDueNow(ctx, receipt.Key)
	return receipt, err
}

// keep keeps a name that Gemini does not know with the intent that waits under the vouched id: it
// was seen not to know a live operation for days, and of one that cannot be listed the delivery may
// be the only evidence. Whoever vouched for the id did not vouch for the name, so only Gemini's
// answer binds it.
func (c *Confirmer) keep(ctx context.Context, receipt ledger.Receipt, name operation.Name, vouched string) (ledger.Receipt, error) {
	kept, err := c.ledger.KeepName(ctx, vouched, name)
	if err != nil {
		return receipt, err
	}
	if !kept {
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: TooManyNames, RetryAfter: c.turns.gap}
	}
	receipt.Outcome, receipt.Reason = Kept, operation.Reason(lookup.NotFound)
	return receipt, nil
}

// makeDueNow makes an operation due, if there is one and it waits for its end: its id came with the
// name of another operation.
func (c *Confirmer) makeDueNow(ctx context.Context, key operation.Key) error {
	if key == "" {
		return nil
	}
	_, err := c.ledger.MakeDueNow(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil // it has expired, and its intent not yet
	}
	return err
}

// later is for an operation that is not asked about now, and says what becomes of the hint instead.
func (c *Confirmer) later(ctx context.Context, receipt ledger.Receipt, rec operation.Record, why string) (ledger.Receipt, error) {
	receipt.Outcome = Ignored
	switch {
	case rec.Settled():
		receipt.Reason = Settled
		return receipt, nil
	case !rec.DueAt.IsZero():
		receipt.Reason = DueNow
		_, err := c.ledger.MakeDueNow(ctx, receipt.Key)
		return receipt, err
	default: // no pass asks about it: nobody registered it, or somebody abandoned it
		return receipt, &UnconfirmedError{Operation: receipt.Key, Reason: why, RetryAfter: c.turns.gap}
	}
}
