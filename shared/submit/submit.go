package submit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Intents stores intents, as [ledger.Intents] does.
type Intents interface {
	Intend(ctx context.Context, i ledger.Intention) (ledger.Intent, error)
	Read(ctx context.Context, correlationID string) (ledger.Intent, error)
	Withdraw(ctx context.Context, correlationID, attempt string) (bool, error)
}

// Operations stores registrations, as [ledger.Operations] does.
type Operations interface {
	Register(ctx context.Context, r ledger.Registration) (ledger.Registered, error)
}

// Options are what a Submitter works with.
type Options struct {
	// Intents and Operations are those of one ledger. It should have the settings of the functions,
	// because registering an operation that has ended plans its effects.
	Intents    Intents
	Operations Operations
	// Gemini submits, to the project whose batches reconciliation lists.
	Gemini *genai.Client
	// Nonce returns a new unique text; nil: crypto/rand.Text.
	Nonce func() string
}

// A Submitter starts operations. It is safe for concurrent use.
type Submitter struct{ options Options }

// New returns a Submitter.
func New(o Options) *Submitter {
	if o.Nonce == nil {
		o.Nonce = rand.Text
	}
	return &Submitter{options: o}
}

// A Submitted is an operation that Gemini has.
type Submitted struct {
	// Name is the name that Gemini gave, or the key where an earlier run has registered the
	// operation.
	Name          string
	CorrelationID string
	// Known: an earlier run had submitted it, and this one did not.
	Known bool
	// WaitUntil, beside ErrUncertain, is when a retry may be decided, by the ledger's clock; zero: no
	// wait decides it.
	WaitUntil time.Time
	// Kept lists the fields that an earlier run set otherwise. Its values stay.
	Kept []string
	// Registered is the result of registering it; zero if it was registered before. Its
	// CorrelationErr means that another operation has the same correlation id: it was
	// submitted twice.
	Registered ledger.Registered
}

// The errors of submitting. After an error of gemini.CheckCorrelationID, or of the ledger that
// wraps none of these, nothing was submitted.
var (
	// ErrRefused: Gemini refused the operation, or was not reached; nothing runs. The intent is
	// withdrawn, so that the correlation id can be used again at once. If that failed, the error says
	// so: the intent stays until it is given up, and a retry under its id counts as a restart of the
	// submitter.
	ErrRefused = errors.New("not submitted")
	// ErrUncertain: an earlier run with the same correlation id may have submitted the operation.
	// Nothing was submitted now. If the operation runs, its event or reconciliation will show it. A
	// retry of a batch is decided from Submitted.WaitUntil on; for anything else an operator checks
	// Gemini, and submits it under another id.
	ErrUncertain = errors.New("an earlier run may have submitted it")
	// ErrUnanswered: Gemini gave no clear answer, and the operation may run. If it does, its event or
	// reconciliation will show it. Submitting it under another id may start it twice. A retry under
	// the same id counts as a restart of the submitter.
	ErrUnanswered = errors.New("no answer says whether it was submitted")
	// ErrUnregistered: the operation runs, but could not be registered. Its event or reconciliation
	// registers it; registering the name in Submitted is safe, too.
	ErrUnregistered = errors.New("submitted, but not registered")
)

const (
	// withdrawTimeout bounds deleting the intent of a refused operation, even after ctx has ended.
	withdrawTimeout = 10 * time.Second
	// registerTimeout bounds the registration of a running operation, even after ctx has ended.
	registerTimeout = 30 * time.Second
)

// Submit submits an operation of any kind: create sends it to Gemini, once and with the mark, and
// returns its name, or the RequestError of that request. After any other error the operation may
// run. Batch, Video and Interaction use it. collection is that of the new operation. The
// correlation id is valid for gemini.CheckCorrelationID, or empty: then it is a new random one. A
// submitter that chooses its ids, such as "nightly-2026-11-21", can be started again.
//
// Once the intent is recorded, Submitted has the correlation id, even beside an error. With
// ErrUnregistered it has the name, too.
func (s *Submitter) Submit(
	ctx context.Context, said operation.Submission, collection operation.Collection,
	create func(context.Context, Mark) (name string, err error),
) (Submitted, error) {
	said.CorrelationID = cmp.Or(said.CorrelationID, s.options.Nonce())
	if err := gemini.CheckCorrelationID(said.CorrelationID); err != nil {
		return Submitted{}, err
	}
	working, cancel := context.WithTimeout(ctx, ledger.SubmitWithin)
	defer cancel()
	intent, err := s.options.Intents.Intend(working, ledger.Intention{Submission: said, Collection: collection})
	if err != nil {
		return Submitted{}, err
	}
	submitted := Submitted{CorrelationID: said.CorrelationID}
	switch intent.Verdict {
	case ledger.IsBound:
		submitted.Name, submitted.Known, submitted.Kept = string(intent.Operation), true, intent.Kept
		return submitted, nil
	case ledger.MaySubmit:
	default:
		submitted.WaitUntil = intent.WaitUntil
		return submitted, fmt.Errorf("submitting %s: %w", said.CorrelationID, uncertain(intent))
	}
	if submitted.Name, err = send(working, Mark{CorrelationID: said.CorrelationID}, create); err != nil {
		if errors.Is(err, ErrRefused) {
			err = s.withdraw(ctx, intent, err)
		}
		return submitted, fmt.Errorf("submitting %s: %w", said.CorrelationID, err)
	}
	return s.register(ctx, said, collection, submitted)
}

// uncertain says what an undecided intent waits for.
func uncertain(intent ledger.Intent) error {
	if intent.WaitUntil.IsZero() {
		return fmt.Errorf("%w, and %s cannot be listed", ErrUncertain,
			cmp.Or(string(intent.Collection), "an operation of an unknown kind"))
	}
	return fmt.Errorf("%w; a reconcile pass decides it from Gemini's list of batches: try again after %s",
		ErrUncertain, intent.WaitUntil.UTC().Format(time.RFC3339))
}

// withdraw deletes the intent of a refused operation. It returns refused, joined with its own
// error.
func (s *Submitter) withdraw(ctx context.Context, intent ledger.Intent, refused error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	if _, err := s.options.Intents.Withdraw(ctx, intent.CorrelationID, intent.Attempt.ID); err != nil {
		return fmt.Errorf("%w; its intent may stay recorded, as that of a run that died: %w", refused, err)
	}
	return refused
}

// register registers the operation, even after ctx has ended, because it runs.
func (s *Submitter) register(
	ctx context.Context, said operation.Submission, collection operation.Collection, submitted Submitted,
) (Submitted, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTimeout)
	defer cancel()
	name, err := operation.ParseName(submitted.Name, collection)
	if err == nil {
		submitted.Registered, err = s.options.Operations.Register(ctx, ledger.Registration{Name: name, Submission: said})
	}
	if err != nil {
		return submitted, fmt.Errorf("%s: %w: %w", submitted.Name, ErrUnregistered, err)
	}
	submitted.Kept = submitted.Registered.Kept
	return submitted, nil
}
