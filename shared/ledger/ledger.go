package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Ledger is the protocol over a store, reached by noun. Its decisions rest on the store alone: any
// number of processes may each have one over the same store.
type Ledger struct {
	Operations Operations
	Effects    Effects
	Items      Items
	Intents    Intents
	Jobs       Jobs
	Passes     Passes
	Quarantine Quarantine

	*protocol
}

// A protocol is what all nouns of one ledger share: its parts, and the steps that more than one of them
// takes.
type protocol struct {
	ingests  keyMutex // per operation
	advances keyMutex // per job
	store    Store
	settings Settings
	publish  Publisher
	nonce    func() string
	jitter   func() float64
	log      *slog.Logger
}

// Options are what a Ledger needs beside its store and settings.
type Options struct {
	// Publisher sends planned effects to the workers. Nil: effects wait for the sweep.
	Publisher Publisher
	// Nonce returns a unique text; nil uses crypto/rand.
	Nonce func() string
	// Jitter returns a number in [0, 1); nil uses math/rand.
	Jitter func() float64
	// Log gets the alert about a deadline from whichever call finds that it was reached, which may be that of a command:
	// then the line is in no function's log [J12]. Nil: it is written nowhere.
	Log *slog.Logger
}

// New returns a ledger over store. The error joins every problem of the settings.
func New(store Store, settings Settings, options Options) (*Ledger, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	p := &protocol{
		store: store, settings: settings, publish: options.Publisher, nonce: options.Nonce, jitter: options.Jitter,
		log: cmp.Or(options.Log, slog.New(slog.DiscardHandler)),
	}
	if p.nonce == nil {
		p.nonce = rand.Text
	}
	if p.jitter == nil {
		p.jitter = mathrand.Float64
	}
	r := p.reading()
	return &Ledger{
		protocol:   p,
		Operations: Operations{r.Operations},
		Effects:    Effects{r.Effects},
		Items:      Items{r.Items},
		Intents:    Intents{r.Intents},
		Jobs:       Jobs{r.Jobs},
		Passes:     Passes{r.Passes},
		Quarantine: Quarantine{r.Quarantine},
	}, nil
}

// The nouns. Each can read, and these can change as well.
type (
	// Operations are the records, what is ingested and registered, and what an operator decides of them.
	Operations struct{ operationsReader }
	// Effects are planned side effects: the claims of workers, the sweep, and an operator's replays.
	Effects struct{ effectsReader }
	// Items are the items of effects that run once for each line of a result.
	Items struct{ itemsReader }
	// Intents are the submissions that are announced before they are made.
	Intents struct{ intentsReader }
	// Jobs are files of requests: their plans, their parts, and the steps that workers take.
	Jobs struct{ jobsReader }
	// Passes are the reconcile passes: their marks, their claims of look-ups, their alerts.
	Passes struct{ passesReader }
	// Quarantine holds the deliveries that could not be ingested.
	Quarantine struct{ quarantineReader }
)

// Settings returns the ledger's settings.
func (l *Ledger) Settings() Settings { return l.settings }

// ErrContention: other calls changed the same documents in each of maxTries tries. Nothing was
// written; the same call may succeed later [M6].
var ErrContention = errors.New("too much contention on one operation")

// errChanged is the ErrConflict that retry returns at once: what the caller decided on has changed.
var errChanged = fmt.Errorf("%w since it was read", ErrConflict)

// ErrNotFound: the ledger has no such operation.
var ErrNotFound = errors.New("the ledger has no such operation")

const (
	// maxTries bounds the tries after lost races. With maxPause it bounds the wait to 5 s.
	maxTries = 20
	// maxUnavailable bounds the tries that end with ErrUnavailable, where the writes may have been
	// made. Two more reads tell a lost answer from a store that is down.
	maxUnavailable = 3
	firstPause     = 5 * time.Millisecond
	maxPause       = 250 * time.Millisecond
)

// retry runs try, which reads, decides and commits, until it neither conflicts nor is unavailable
// [M6]. try is given the number of tries before it. The pauses are random, at most 5, 10, 20 …
// 250 ms.
//
// A commit whose answer was lost is tried again, too: try must recognize its own write, by a nonce
// that it stored. So a commit that succeeded is told from one that failed. After errChanged nothing is
// tried again.
func (l *protocol) retry(ctx context.Context, what string, try func(tries int) error) error {
	unavailable := 0
	for tries := range maxTries {
		err := try(tries)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrUnavailable):
			// After the last try, too: ErrContention would say that nothing was written.
			if unavailable++; unavailable >= maxUnavailable || tries == maxTries-1 {
				return fmt.Errorf("%s: %w", what, err)
			}
		case !errors.Is(err, ErrConflict) || errors.Is(err, errChanged):
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

// commit is the store's Commit, for a caller that writes none of the documents again. Without writes it does nothing.
func (l *protocol) commit(ctx context.Context, writes ...Write) error {
	if len(writes) == 0 {
		return nil
	}
	_, err := l.store.Commit(ctx, writes...)
	return err
}

// record reads an operation's record, its document, and what was read with it. The document need not
// exist.
func (l *protocol) record(ctx context.Context, key operation.Key) (operation.Record, Document, Snapshot, error) {
	snapshot, err := l.store.Get(ctx, OperationPath(key))
	if err != nil {
		return operation.Record{}, Document{}, snapshot, fmt.Errorf("reading %s: %w", key, err)
	}
	rec, err := l.readRecord(snapshot.Documents[0])
	return rec, snapshot.Documents[0], snapshot, err
}

// readRecord decodes an operation's record; one that does not exist is the zero Record.
func (l *protocol) readRecord(d Document) (operation.Record, error) {
	rec, err := decode(d, func(rec operation.Record) Path { return OperationPath(rec.Key) })
	if err != nil || !d.Exists() {
		return rec, err
	}
	return l.derived(rec), nil
}

func (l *protocol) derived(rec operation.Record) operation.Record {
	return rec.Derived(l.settings.stuckAfter(rec.Collection))
}

// effect reads an effect, and more documents in the same snapshot, behind its own.
func (l *protocol) effect(ctx context.Context, path Path, more ...Path) (Effect, Snapshot, error) {
	snapshot, err := l.store.Get(ctx, append([]Path{path}, more...)...)
	if err != nil {
		return Effect{}, snapshot, err
	}
	effect, err := readEffect(snapshot.Documents[0])
	return effect, snapshot, err
}

// readEffect decodes an effect; one that does not exist is the zero Effect.
func readEffect(d Document) (Effect, error) {
	effect, err := decode(d, func(effect Effect) Path { return EffectPath(effect.Operation, effect.Name) })
	return effect.derived(), err
}

// writeRecord returns the record with its version counted and its lifetime decided [L3], and the
// write of it. Every record is written through it.
func (l *protocol) writeRecord(d Document, rec operation.Record, now time.Time) (operation.Record, Write) {
	rec.Schema = max(rec.Schema, operation.SchemaVersion)
	if rec.IsPart() || rec.Collection == operation.Jobs {
		rec.Schema = max(rec.Schema, jobSchema)
	}
	rec.Version++
	rec = l.derived(rec.Lifetime(now, l.settings.Retention))
	return rec, Write{Path: d.Path, Token: d.Token, Data: rec}
}

// writeEffect returns the write of a changed effect. Every effect is written through it.
func (l *protocol) writeEffect(d Document, effect Effect) Write {
	effect.Schema = max(effect.Schema, operation.SchemaVersion)
	if effect.Progress != nil {
		effect.Schema = max(effect.Schema, progressSchema)
	}
	effect.Version++
	effect.Lost = effect.loss()
	return Write{Path: d.Path, Token: d.Token, Data: effect.derived()}
}
