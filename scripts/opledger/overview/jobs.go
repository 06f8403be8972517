package overview

import (
	"context"
	"errors"
	"slices"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// readJobs counts the jobs that have not ended, and reads why the newest of them start nothing: three documents for
// each, because of its parts the first open one says enough. One more document has all that are held, and those that
// ended lately with lines of results that answer no request. Of each that is held and not among the newest, another
// says whether it still is.
func (o *Overview) readJobs(ctx context.Context, l ledger.Reading, most int) error {
	filter := ledger.Filter{Collection: operation.Jobs, States: []operation.State{operation.Pending}, Limit: most}
	page, err := l.Operations.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	o.Jobs.Partial = o.partial(page.Next)
	o.Jobs.Total, err = count(page, func() (ledger.Total, error) { return l.Operations.Count(ctx, filter) })
	for _, rec := range page.Items {
		err = errors.Join(err, o.readStopped(ctx, l, rec))
	}
	running, heldErr := l.Jobs.Running(ctx)
	err = errors.Join(err, heldErr)
	for _, held := range running.HeldJobs() {
		if slices.ContainsFunc(page.Items, func(rec operation.Record) bool { return rec.Key == held.Job }) {
			continue
		}
		j, readErr := l.Jobs.Read(ctx, held.Job)
		switch {
		case readErr == nil && j.Held():
			o.stopped(progress.Progress{Key: held.Job, Hold: &held.Hold})
		case readErr != nil && !errors.Is(readErr, ledger.ErrNoJob):
			err = errors.Join(err, readErr)
		}
	}
	for _, u := range running.UnmatchedJobs(o.At) {
		if !slices.ContainsFunc(o.Jobs.Unmatched, func(noted UnmatchedJob) bool { return noted.Key == u.Job }) {
			o.unmatched(progress.Progress{
				Key: u.Job, Storage: u.Storage, Counts: job.Counts{Unmatched: u.Lines},
				Output: job.Output{Unmatched: job.Object{Name: u.Object}},
			})
		}
	}
	return err
}

// readStopped notes a job that goes on only once an operator has acted.
func (o *Overview) readStopped(ctx context.Context, l ledger.Reading, rec operation.Record) error {
	j, err := l.Jobs.Read(ctx, rec.Key)
	if unreadable, is := errors.AsType[ledger.Broken](err); is {
		o.Broken = append(o.Broken, unreadable)
		return nil
	}
	if errors.Is(err, ledger.ErrNoJob) {
		return nil
	}
	if err != nil {
		return err
	}
	var open []ledger.StoredPart
	if !j.Held() {
		page, err := l.Jobs.OpenParts(ctx, rec.Key, ledger.Cursor{}, 1)
		if err != nil {
			return err
		}
		open = page.Items
	}
	p := progress.Of(j.Job, rec, open, ledger.RunningBatches{})
	o.stopped(p)
	o.unmatched(p)
	return nil
}

// unmatched notes a job with lines of results that answer no request.
func (o *Overview) unmatched(p progress.Progress) {
	if words := phrase.Unmatched(p, o.store); words != "" {
		o.Jobs.Unmatched = append(o.Jobs.Unmatched, UnmatchedJob{p.Key, words})
	}
}

// stopped notes a job if it goes on only once an operator has acted.
func (o *Overview) stopped(p progress.Progress) {
	s := phrase.JobStanding(p, o.store)
	switch {
	case s == nil:
	case s.Tone == phrase.Bad:
		o.Jobs.Stopped = append(o.Jobs.Stopped, StoppedJob{Key: p.Key, Why: s.Title})
	case p.Hold != nil:
		o.Jobs.Paused = append(o.Jobs.Paused, StoppedJob{Key: p.Key, Why: s.Title})
	}
}
