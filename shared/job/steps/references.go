package steps

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// references is the kind of an object that has the references of a job.
const references = "references"

// A reference is a file or a cache that requests name, and what Gemini last said of it.
type reference struct {
	Name    string    `json:"name"`
	Round   int       `json:"round,omitempty"` // before which it was looked up; 0: it was not yet
	Gone    bool      `json:"gone,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: Gemini does not say
}

// expired reports whether the reference was there, and has expired since by what Gemini said of it.
func (r reference) expired(now time.Time) bool { return !r.Gone && expiredAt(r.Expires, now) }

func expiredAt(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// A named is a list of different references, in their order, up to a number of them.
type named struct {
	most int
	all  []reference
	seen map[string]bool
}

func (n *named) add(name string) {
	if n.seen[name] || len(n.all) >= n.most {
		return
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	n.all = append(n.all, reference{Name: name})
}

// store stores the references, if there are any.
func (n *named) store(ctx context.Context, s storage.Storage, object string) (job.References, error) {
	if len(n.all) == 0 {
		return job.References{}, nil
	}
	list, err := storeReferences(ctx, s, object, n.all)
	return job.References{List: list, Count: int64(len(n.all))}, err
}

func storeReferences(ctx context.Context, s storage.Storage, object string, all []reference) (job.Object, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, r := range all {
		if err := encoder.Encode(r); err != nil {
			return job.Object{}, fmt.Errorf("encoding %s: %w", r.Name, err)
		}
	}
	made, err := s.Create(ctx, object, &lines)
	if err != nil {
		return job.Object{}, fmt.Errorf("storing what the requests name at Gemini: %w", err)
	}
	return job.Object(made), nil
}

func readReferences(ctx context.Context, s storage.Storage, list job.Object) (all []reference, err error) {
	content, err := s.Read(ctx, list.Name, 0, -1)
	if err != nil {
		return nil, fmt.Errorf("reading what the requests name at Gemini: %w", err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	for line, err := range files.Scan(content) {
		var r reference
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", list.Name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// How fast one process looks references up, all its steps together. Gemini documents no limit; a 429 puts the step off.
const (
	lookUpsAtOnce    = 8
	lookUpsPerSecond = 50
	// lookUpsStored is after how many look-ups their answers are stored, for the next attempt to go on behind them.
	lookUpsStored = 500
)

// lookUp asks Gemini for references, each once. An error says which could not be decided, or is an errSlow where the
// time does not reach for all; what is known of the others stays. now is the time by the ledger's clock: where Gemini
// has one whose time was over before, that time says nothing, and is not kept.
func (o Options) lookUp(ctx context.Context, all []*reference, round int, now time.Time) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookUpsAtOnce)
	var late error
	for _, r := range all {
		if err := o.lookUps.Wait(ctx); err != nil { // also at once, where the time would be over first
			late = fmt.Errorf("%w: waiting to look up %s: %w", errSlow, r.Name, err)
			break // those that were asked for are still answered
		}
		group.Go(func() error {
			expires, err := o.Batches.Expires(ctx, r.Name)
			gone := errors.Is(err, batches.ErrGone)
			switch {
			case gone: // it stays known when it was to expire
			case err != nil:
				return fmt.Errorf("looking up %s: %w", r.Name, err)
			case expiredAt(expires, now):
				r.Expires = time.Time{}
			default:
				r.Expires = expires
			}
			r.Gone, r.Round = gone, round
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err //nolint:wrapcheck // of this package
	}
	return late
}

// references looks up, before a round of parts, each file and cache that the job's requests name, and counts the
// requests that are not sent for it [J15].
func (o Options) references(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	p, j, err := o.part(ctx, task.Operation)
	if err != nil {
		return nil, err
	}
	known := j.References.List
	switch found := p.LookedUp; {
	case p.State != job.Planned || p.LookUp != job.LookUpPlanned || j.Ending():
		return nil, nil
	case found != nil && found.Round > 0:
		return nil, nil
	case found != nil:
		known = found.List
	}
	if err := o.asks(); err != nil {
		return nil, err
	}
	all, err := readReferences(ctx, o.Storage, known)
	if err != nil {
		return nil, err
	}
	l := lookingUp{starting: starting{Options: o, task: task, part: p, job: j.Job, at: j.At}, all: all}
	return l.run(ctx)
}

// A lookingUp is one attempt to look up the references of a job. It waits as a start does.
type lookingUp struct {
	starting
	all    []reference
	stored int // how many objects this attempt has stored
}

func (l *lookingUp) run(ctx context.Context) ([]ledger.Write, error) {
	window, cancel := items.WindowOf(ctx)
	defer cancel()
	round := max(l.part.Round, l.job.References.Round)
	isDue := func(r *reference) bool { return r.Round < round || r.expired(l.at) }
	var due []*reference
	for i := range l.all {
		if r := &l.all[i]; isDue(r) {
			due = append(due, r)
		}
	}
	for len(due) > 0 {
		asked := due[:min(lookUpsStored, len(due))]
		err := l.lookUp(window.Context, asked, round, l.at)
		if err == nil && len(asked) == len(due) {
			break
		}
		if slices.ContainsFunc(asked, func(r *reference) bool { return !isDue(r) }) {
			if err := l.save(ctx); err != nil {
				return nil, err
			}
		}
		switch {
		case errors.Is(err, errSlow), window.Over() && ctx.Err() == nil:
			return nil, later(ctx, l.stored > 0, err)
		case err != nil:
			return nil, l.undecided(ctx, err)
		case window.Closing():
			return nil, effect.ErrContinue
		}
		due = due[len(asked):]
	}
	found, err := l.found(ctx, round)
	if err != nil {
		return nil, err
	}
	l.part.LookedUp, l.part.Waits, l.part.WaitsSince, l.part.PutOffSince = &found, "", time.Time{}, time.Time{}
	return []ledger.Write{l.part.Write()}, nil
}

// save stores what was answered so far.
func (l *lookingUp) save(ctx context.Context) error {
	list, err := l.store(ctx)
	if err != nil {
		return err
	}
	l.part.LookedUp = &job.References{List: list}
	l.part, err = l.Ledger.Jobs.Save(ctx, l.task.Lease, l.part)
	return err
}

func (l *lookingUp) store(ctx context.Context) (job.Object, error) {
	l.stored++
	return storeReferences(ctx, l.Storage, files.Of(l.job, l.part.Number, l.task.Fence, references, l.stored), l.all)
}

// found is what the look-ups have brought.
func (l *lookingUp) found(ctx context.Context, round int) (found job.References, err error) {
	found.Round = round
	gone := map[string]bool{}
	for _, r := range l.all {
		switch {
		case r.Gone:
			gone[r.Name] = true
			found.First = cmp.Or(found.First, r.Name)
		case !r.Expires.IsZero() && (found.Expires.IsZero() || r.Expires.Before(found.Expires)):
			found.Expires = operation.Instant(r.Expires)
		}
	}
	found.Gone = int64(len(gone))
	if len(gone) > 0 {
		found.Open, err = l.naming(ctx, gone)
	}
	if err == nil {
		found.List, err = l.store(ctx)
	}
	return found, err
}

// undecided puts the step off after a look-up that decided nothing.
func (s *starting) undecided(ctx context.Context, cause error) error {
	return s.refused(ctx, fmt.Errorf("%w: %w", batches.ErrRefused, cause))
}

// naming counts the requests that name one of these, of those that are in no batch and may be sent. The job may go on
// meanwhile, and give sources to another part, which is read behind the former one: each source counts once.
func (l *lookingUp) naming(ctx context.Context, gone map[string]bool) (count int64, err error) {
	type start struct {
		object string
		offset int64
	}
	counted := map[start]bool{}
	add := func(sources []job.Source) error {
		sources = slices.DeleteFunc(slices.Clone(sources), func(s job.Source) bool {
			at := start{s.Object, s.Offset}
			was := counted[at]
			counted[at] = true
			return was
		})
		for request, err := range files.Requests(ctx, l.Storage, l.job.Key, sources) {
			if err != nil {
				return err
			}
			names := false
			job.ReferencesIn(request.Body, func(name string) { names = names || gone[name] })
			if names {
				count++
			}
		}
		return nil
	}
	j, err := l.Ledger.Jobs.Read(ctx, l.job.Key)
	if err != nil {
		return 0, err
	}
	for _, g := range j.Waiting {
		if err := add(g.Sources); err != nil {
			return 0, err
		}
	}
	err = files.EachPart(ctx, l.Ledger.Jobs.OpenParts, l.job.Key, func(p ledger.StoredPart) error {
		sources, err := l.unsent(ctx, p.Part)
		if err == nil {
			err = add(sources)
		}
		return err
	})
	return count, err
}

// unsent returns the sources of a part that are in no batch, as far as the ledger knows. A start that is put off has no
// intent between its creations, and may be making one now.
func (l *lookingUp) unsent(ctx context.Context, p job.Part) ([]job.Source, error) {
	switch p.State {
	case job.Planned:
		return p.Sources, nil
	case job.Refused:
		return p.Pieces, nil
	case job.Starting:
		intent, err := l.Ledger.Intents.Read(ctx, string(p.Key))
		if errors.Is(err, ledger.ErrNoIntent) || err == nil && intent.State != ledger.IntentBound {
			return p.Sources, nil
		}
		return nil, err
	default:
		return nil, nil
	}
}
