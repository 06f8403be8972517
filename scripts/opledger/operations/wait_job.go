package operations

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// jobProgress reads how far a job is; nil for any other operation, and for a job of which its record is left.
func jobProgress(ctx context.Context, l *ledger.Ledger, key operation.Key) (*progress.Progress, error) {
	if key.Collection() != operation.Jobs {
		return nil, nil //nolint:nilnil // it is no job
	}
	p, err := progress.Read(ctx, l.Reading(), key)
	if errors.Is(err, ledger.ErrNoJob) {
		return nil, nil //nolint:nilnil // there is no more of it
	}
	return &p, err
}

// partsEvery is at how many readings of a record the parts of its job are read, where the job itself has not
// changed: what a part waits for changes in its own document.
const partsEvery = 15

// A jobWatch says how far an operation is while it is waited for. In place of the open parts it mostly reads
// the job alone, which changes with each step.
type jobWatch struct {
	ledger *ledger.Ledger
	key    operation.Key
	store  string // what commands end with

	version  int64
	readings int
	far      string // how far the job is
	said     string // last
}

// say says how far the operation is: on a terminal in one line, and of a job else in a line for each change.
func (w *jobWatch) say(
	ctx context.Context, outside terminal.Environment, p *terminal.Progress, rec operation.Record,
) error {
	words := phrase.State(rec) + "; effects: " + phrase.Effects(rec)
	if w.key.Collection() != operation.Jobs {
		p.Say(words)
		w.said = words
		return nil
	}
	if err := w.read(ctx); err != nil {
		return err
	}
	if !rec.Settled() {
		words = w.far
	}
	if p.Say(words); !p.Shown() && words != w.said {
		outside.Note("%s", words)
	}
	w.said = words
	return nil
}

// read reads how far the job is, if that may have changed.
func (w *jobWatch) read(ctx context.Context) error {
	j, err := w.ledger.Jobs.Read(ctx, w.key)
	if errors.Is(err, ledger.ErrNoJob) {
		return nil
	}
	if err != nil {
		return err
	}
	w.readings++
	if w.readings%partsEvery == 1 {
		if err := w.deadParts(ctx); err != nil {
			return err
		}
	}
	if j.Version == w.version && w.readings%partsEvery != 0 {
		return nil
	}
	of, err := jobProgress(ctx, w.ledger, w.key)
	if err == nil && of != nil {
		w.version, w.far = j.Version, phrase.Progress(*of, w.store)
	}
	return err
}

// mostWatched bounds the parts whose steps are read at once: those that have been open longest.
const mostWatched = 2 * job.MostBatches

// deadParts returns an error where a part of the job cannot go on, because one of its steps is dead.
func (w *jobWatch) deadParts(ctx context.Context) error {
	page, err := w.ledger.Jobs.OpenParts(ctx, w.key, ledger.Cursor{}, mostWatched)
	if err != nil {
		return err
	}
	var names []ledger.EffectName
	for _, p := range page.Items {
		if p.State == job.Planned && p.LookUp == job.LookUpPlanned {
			names = append(names, ledger.EffectName{Operation: p.Key, Effect: job.StepReferences})
		}
		if p.State == job.Starting {
			names = append(names, ledger.EffectName{Operation: p.Key, Effect: job.StepStart})
		}
		if p.Batch != "" {
			names = append(names, ledger.EffectName{Operation: p.Batch, Effect: job.StepCollect})
		}
	}
	steps, _, err := w.ledger.Effects.Read(ctx, names...)
	if err != nil {
		return err
	}
	for _, e := range steps {
		if e.State == ledger.EffectDead {
			return fmt.Errorf("%s of %s is dead, so that %s cannot end: %s; see opledger show %s", e.Name,
				phrase.Safe(string(e.Operation)), w.key, phrase.Safe(e.LastError), phrase.ShellWord(string(e.Operation))+w.store)
		}
	}
	return nil
}

// deadStep reports whether a job cannot go on, because a step of its own is dead.
func deadStep(rec operation.Record) bool {
	for name, status := range rec.Effects {
		if job.IsStep(name) && status == operation.EffectDead && rec.Collection == operation.Jobs {
			return true
		}
	}
	return false
}
