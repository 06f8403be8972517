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

// A Registrar stores intents and registrations. *ledger.Ledger is one.
type Registrar interface {
	Intend(ctx context.Context, i ledger.Intention) (ledger.Intent, error)
	Renew(ctx context.Context, intent ledger.Intent) (ledger.Intent, error)
	Withdraw(ctx context.Context, correlationID string) (bool, error)
	Register(ctx context.Context, r ledger.Registration) (ledger.Registered, error)
	// Now is the clock of the intents' times.
	Now(ctx context.Context) (time.Time, error)
}

// Options are what a Submitter works with.
type Options struct {
	// Ledger should have the settings of the functions, because registering an operation that has
	// ended plans its effects.
	Ledger Registrar
	// Gemini submits. Lookup, for the same project, finds the batch of an earlier run.
	Gemini *genai.Client
	Lookup *lookup.Client
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

// A Job says what an operation is for.
type Job struct {
	// CorrelationID is the submitter's own id for the job, valid for gemini.CheckCorrelationID.
	// Empty: a new random one. A submitter that chooses its ids, such as "nightly-2026-11-21", can
	// be started again.
	CorrelationID string
	JobKind       string
	Metadata      operation.Metadata
}

// A Submitted is an operation that Gemini has.
type Submitted struct {
	// Name is the name that Gemini gave, or the key where an earlier run has registered the
	// operation.
	Name          string
	CorrelationID string
	// Known: an earlier run had submitted it, and this one did not.
	Known bool
	// Kept lists the fields of the job that an earlier run set otherwise. Its values stay.
	Kept []string
	// Registered is the result of registering it; zero if it was registered before. Its
	// CorrelationErr means that another operation has the same correlation id: the job was
	// submitted twice.
	Registered ledger.Registered
}

// The errors of submitting. After an error of gemini.CheckCorrelationID, or of the ledger that
// wraps none of these, nothing was submitted.
var (
	// ErrRefused: Gemini refused the operation, or was not reached; nothing runs. The intent is
	// withdrawn, so that the correlation id can be used again at once. If that failed, the error
	// says so: the intent stays until it is given up, and a retry under its id is that of a
	// submitter which starts again.
	ErrRefused = errors.New("not submitted")
	// ErrUncertain: an earlier run with the same correlation id may have submitted the operation.
	// Nothing was submitted now. If the operation runs, its event or reconciliation will show it;
	// if neither does, submit it under another id.
	ErrUncertain = errors.New("an earlier run may have submitted it")
	// ErrUnanswered: Gemini gave no clear answer, and the operation may run. If it does, its event
	// or reconciliation will show it. Submitting it under another id may start it twice.
	ErrUnanswered = errors.New("no answer says whether it was submitted")
	// ErrUnregistered: the operation runs, but could not be registered. Its event or reconciliation
	// registers it; registering the name in Submitted is safe, too.
	ErrUnregistered = errors.New("submitted, but not registered")
)

const (
	// createTimeout bounds recording or renewing the intent and creating the operation together.
	// After it, the run sends nothing more.
	createTimeout = 2 * time.Minute
	// settledAfter is the age of an intent at which any operation that its last run sent is in
	// Gemini's list: createTimeout, and time for Gemini to finish the request.
	settledAfter = 5 * time.Minute
	// withdrawTimeout bounds deleting the intent of a refused operation, even after ctx has ended.
	// With createTimeout it is shorter than settledAfter, so that no other run has renewed the
	// intent.
	withdrawTimeout = 10 * time.Second
	// registerTimeout bounds the registration of a running operation, even after ctx has ended.
	registerTimeout = 30 * time.Second
)

// Submit submits an operation of any kind: create sends it to Gemini, once and with the mark, and
// returns its name. Batch, Video and Interaction use it. collection is that of the new operation.
//
// Once the intent is recorded, Submitted has the correlation id, even beside an error. With
// ErrUnregistered it has the name, too.
func (s *Submitter) Submit(
	ctx context.Context, job Job, collection operation.Collection,
	create func(context.Context, Mark) (name string, err error),
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

// withdraw deletes the intent of a refused operation. It returns refused, joined with its own
// error.
func (s *Submitter) withdraw(ctx context.Context, correlationID string, refused error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	if _, err := s.options.Ledger.Withdraw(ctx, correlationID); err != nil {
		return fmt.Errorf("%w; its intent may stay recorded, so take another correlation id: %w", refused, err)
	}
	return refused
}

// register registers the operation, even after ctx has ended, because it runs. A zero time is now.
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
