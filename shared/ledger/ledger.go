package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Ledger is the protocol over a store. Whatever it decides rests on the store alone: any number of processes may each have
// one over the same store.
type Ledger struct {
	queue    queue
	store    Store
	settings Settings
	publish  Publisher
	nonce    func() string
	jitter   func() float64
}

// Options are what a Ledger takes beside its store and settings.
type Options struct {
	// Publisher hands planned effects over to the workers. Nil: nobody is told, and effects wait for the sweep.
	Publisher Publisher
	// Nonce makes a text that nobody made before; nil takes crypto/rand.
	Nonce func() string
	// Jitter returns a number in [0, 1); nil takes math/rand.
	Jitter func() float64
}

// New returns a ledger over store. The error joins every problem of the settings.
func New(store Store, settings Settings, options Options) (*Ledger, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	l := &Ledger{store: store, settings: settings, publish: options.Publisher, nonce: options.Nonce, jitter: options.Jitter}
	if l.nonce == nil {
		l.nonce = rand.Text
	}
	if l.jitter == nil {
		l.jitter = mathrand.Float64
	}
	return l, nil
}

// Settings returns what the ledger decides by.
func (l *Ledger) Settings() Settings { return l.settings }

// ErrContention: too many others changed the same documents at the same time. Nothing was written; the same call may succeed
// later [M6].
var ErrContention = errors.New("too much contention on one operation")

// ErrNotFound: the ledger has no such operation.
var ErrNotFound = errors.New("the ledger has no such operation")

const (
	// maxTries bounds how often a decision is made again after a lost race; with maxPause it bounds the wait to some seconds.
	maxTries = 20
	// maxUnavailable bounds how often a call goes on after an error that leaves open whether something was written. Two more
	// looks tell a lost answer from a store that is down.
	maxUnavailable = 3
	firstPause     = 5 * time.Millisecond
	maxPause       = 250 * time.Millisecond
)

// decide runs try until it neither loses a race nor is left without an answer: read, decide, commit, and on a conflict the
// same again from the start, since the reducer is pure [M6]. try is given the number of tries before it.
//
// After a commit without an answer the decision is made again, too: try must recognise its own write by a nonce that it
// left in it. This is how a commit that succeeded while its answer was lost is told from one that failed.
func (l *Ledger) decide(ctx context.Context, what string, try func(tries int) error) error {
	unavailable := 0
	for tries := range maxTries {
		err := try(tries)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrUnavailable):
			if unavailable++; unavailable >= maxUnavailable {
				return fmt.Errorf("%s: %w", what, err)
			}
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("%s: %w", what, err)
		}
		pause := time.Duration(l.jitter() * float64(min(firstPause<<tries, maxPause)))
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	return fmt.Errorf("%s: %w: gave up after %d tries", what, ErrContention, maxTries)
}

// readRecord decodes the record of an operation; one that does not exist is the zero Record.
func readRecord(d Document) (operation.Record, error) {
	return decode(d, func(rec operation.Record) Path { return OperationPath(rec.Key) })
}

// readEffect decodes an effect; one that does not exist is the zero Effect.
func readEffect(d Document) (Effect, error) {
	return decode(d, func(effect Effect) Path { return EffectPath(effect.Operation, effect.Name) })
}

// writeRecord is the only place where a record is made ready to be written: it counts the version and settles how long the
// record lives [L3].
func (l *Ledger) writeRecord(d Document, rec operation.Record, now time.Time) (operation.Record, Write) {
	rec.Schema = operation.SchemaVersion
	rec.Version++
	rec = rec.Lifetime(now, l.settings.Retention)
	return rec, Write{Path: d.Path, Token: d.Token, Data: rec}
}

// writeEffect is the only place where a changed effect is made ready to be written.
func (l *Ledger) writeEffect(d Document, effect Effect) Write {
	effect.Schema = operation.SchemaVersion
	effect.Version++
	return Write{Path: d.Path, Token: d.Token, Data: effect}
}
