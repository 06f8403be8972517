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
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Registrar takes intents and registrations. *ledger.Ledger is one.
type Registrar interface {
	Intend(ctx context.Context, i ledger.Intention) (ledger.Intent, error)
	Renew(ctx context.Context, intent ledger.Intent) (ledger.Intent, error)
	Withdraw(ctx context.Context, correlationID string) (bool, error)
	Register(ctx context.Context, r ledger.Registration) (ledger.Registered, error)
	// Now is the clock that intents are dated by.
	Now(ctx context.Context) (time.Time, error)
}

// Options are what a Submitter works with.
type Options struct {
	// Ledger should have the settings of the functions: what has ended before it is registered runs
	// its effects, too.
	Ledger Registrar
	// Gemini submits. Lookup, for the same project, finds the batch that an earlier run has
	// submitted.
	Gemini *genai.Client
	Lookup *lookup.Client
	// Nonce makes a text that was never made before; nil takes crypto/rand.
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

// A Job says what an operation is for.
type Job struct {
	// CorrelationID is the submitter's own id for the job, as gemini.CheckCorrelationID takes it;
	// empty: a new random one. A submitter that gives each job an id of its own choice, such as
	// "nightly-2026-11-21", can be started again.
	CorrelationID string
	JobKind       string
	Metadata      operation.Metadata
}

// A Submitted is an operation that Gemini has.
type Submitted struct {
	// Name is what to ask the API with; where an earlier run has registered the operation, its key.
	Name          string
	CorrelationID string
	// Known: an earlier run had submitted it; nothing was submitted now.
	Known bool
	// Kept names what an earlier run said otherwise of the job, and what stays as that run said.
	Kept []string
	// Registered says what registering it did; zero where it was registered before. Its
	// CorrelationErr means that another operation has the same correlation id: the job was
	// submitted twice.
	Registered ledger.Registered
}

// The errors of submitting, beside those of the ledger and of gemini.CheckCorrelationID, on which
// nothing was submitted.
var (
	// ErrRefused: Gemini did not take the operation, or was not reached at all; nothing runs. The
	// intent is withdrawn, so that anything may be submitted again under the same correlation id at
	// once. Where that failed, the error says so: the intent stays recorded until it is given up,
	// and a resubmission under its id is that of a submitter which starts again.
	ErrRefused = errors.New("not submitted")
	// ErrUncertain: an earlier run with the same correlation id may have submitted the operation,
	// and it is not known. Nothing was submitted now. If it runs, its event or reconciliation will
	// show it; if neither does, submit it under another id.
	ErrUncertain = errors.New("an earlier run may have submitted it")
	// ErrUnanswered: no answer of Gemini's says whether it took the operation. If it runs, its
	// event or reconciliation will show it. Submitting it under another id may start it twice.
	ErrUnanswered = errors.New("no answer says whether it was submitted")
	// ErrUnregistered: the operation runs, but could not be registered. Its event or reconciliation
	// will do so; registering it by the name in Submitted is safe.
	ErrUnregistered = errors.New("submitted, but not registered")
)

const (
	// createTimeout bounds recording or renewing the intent and creating the operation together:
	// when it has passed since, the run that did so no longer sends anything.
	createTimeout = 2 * time.Minute
	// settledAfter is when an operation that the last run which recorded or renewed the intent may
	// have sent is surely in Gemini's list: createTimeout, and time enough for Gemini to end what
	// it is at.
	settledAfter = 5 * time.Minute
	// withdrawTimeout bounds deleting the intent of what was refused, also where the caller has
	// gone. Together with createTimeout it is shorter than settledAfter, so that no other run has
	// renewed the intent.
	withdrawTimeout = 10 * time.Second
	// registerTimeout bounds the registration of an operation that runs already, also where the
	// caller has gone.
	registerTimeout = 30 * time.Second
)

// Submit submits any operation: create sends it to Gemini, once and with the mark, and returns its
// name. Batch, Video and Interaction are made of it. collection is where the operation is going to
// be.
//
// Once the intent is recorded, Submitted has the correlation id, also beside an error; on
// ErrUnregistered it has the name, too.
func (s *Submitter) Submit(
	ctx context.Context, job Job, collection operation.Collection, create func(context.Context, Mark) (name string, err error),
) (Submitted, error) {
	job.CorrelationID = cmp.Or(job.CorrelationID, s.options.Nonce())
	if err := gemini.CheckCorrelationID(job.CorrelationID); err != nil {
		return Submitted{}, err
	}
	working, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	intent, err := s.options.Ledger.Intend(working, ledger.Intention{
		CorrelationID: job.CorrelationID, JobKind: job.JobKind, Metadata: job.Metadata, Collection: collection,
	})
	if err != nil {
		return Submitted{}, err
	}
	submitted := Submitted{CorrelationID: job.CorrelationID}
	if intent.State == ledger.IntentBound {
		submitted.Name, submitted.Known, submitted.Kept = string(intent.Operation), true, intent.Kept
		return submitted, nil
	}
	if !intent.Created {
		earlier, err := s.resume(working, collection, intent)
		if err != nil {
			return submitted, fmt.Errorf("submitting %s: %w", job.CorrelationID, err)
		}
		if earlier.name != "" {
			submitted.Name, submitted.Known = earlier.name, true
			return s.register(ctx, job, collection, earlier.createTime, submitted)
		}
		if err := s.renew(working, intent); err != nil {
			return submitted, fmt.Errorf("submitting %s: %w", job.CorrelationID, err)
		}
	}
	if submitted.Name, err = send(working, Mark{CorrelationID: job.CorrelationID}, create); err != nil {
		if errors.Is(err, ErrRefused) {
			err = s.withdraw(ctx, job.CorrelationID, err)
		}
		return submitted, fmt.Errorf("submitting %s: %w", job.CorrelationID, err)
	}
	return s.register(ctx, job, collection, time.Time{}, submitted)
}

// withdraw deletes the intent of what was refused, and returns why it was, with what came in the
// way of that.
func (s *Submitter) withdraw(ctx context.Context, correlationID string, refused error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	if _, err := s.options.Ledger.Withdraw(ctx, correlationID); err != nil {
		return fmt.Errorf("%w; its intent may stay recorded, so take another correlation id: %w", refused, err)
	}
	return refused
}

// register records the operation, which runs from now on whatever becomes of the caller. A zero
// time is now.
func (s *Submitter) register(
	ctx context.Context, job Job, collection operation.Collection, submittedAt time.Time, submitted Submitted,
) (Submitted, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTimeout)
	defer cancel()
	name, err := operation.ParseName(submitted.Name, collection)
	if err == nil {
		submitted.Registered, err = s.options.Ledger.Register(ctx, ledger.Registration{
			Name: name, JobKind: job.JobKind, Metadata: job.Metadata, SubmittedAt: submittedAt, CorrelationID: job.CorrelationID,
		})
	}
	if err != nil {
		return submitted, fmt.Errorf("%s: %w: %w", submitted.Name, ErrUnregistered, err)
	}
	submitted.Kept = submitted.Registered.Kept
	return submitted, nil
}
