package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

const (
	// mostAtOnce is how many effects of a receiver are asked for at once, after the first one.
	mostAtOnce = 100
	// MostRefused is how many of them may be refused for good: such a refusal may be about the one effect.
	MostRefused = 3
	// outcomeWithin is how long the outcomes of those at once may take.
	outcomeWithin = 10 * time.Minute
	// lookEvery is how often they are looked for where LookEvery does not say.
	lookEvery = 2 * time.Second
)

// NextWave is how many effects of a receiver are tried next, after a wave of so many: ten times as many, but after a
// refusal for good only as many as may still be refused. refused counts such refusals of the wave, all of the run.
func NextWave(wave, refused, all int) int {
	if refused == 0 {
		return min(10*wave, mostAtOnce)
	}
	return max(1, MostRefused-all)
}

// A Progress is how far an action on several effects is.
type Progress struct {
	Total int
	Sent  int // how many were asked for; at an error the last of them perhaps
	Tried int // how many of these have an outcome
	Done  int
	// Refused are those that were tried and are not done.
	Refused []Refusal
}

// A Refusal is an effect that was tried, and is not done.
type Refusal struct {
	ledger.EffectName
	Error string
	// Again: it is retried by itself, after a back-off. Else it is dead.
	Again bool
}

// stops returns why the rest is not tried; nil: it is. A failure that is retried is the receiver's, and one is
// enough.
func (p Progress) stops() error {
	i := slices.IndexFunc(p.Refused, func(r Refusal) bool { return r.Again })
	switch {
	case p.Tried == p.Total, i < 0 && len(p.Refused) < MostRefused:
		return nil
	case i < 0:
		i = 0
	}
	r := p.Refused[i]
	return fmt.Errorf("%w: %s of %s: %s", ErrRefused, phrase.Safe(r.Effect), phrase.Safe(string(r.Operation)),
		phrase.Readable(r.Error))
}

// ErrRefused: the receiver does not accept what it gets, so that the rest was not tried.
var ErrRefused = errors.New("the receiver still refuses")

// ReplayEach asks the workers to run effects again, as m says. It asks for one, and for more only while they are
// done: a receiver that is down is tried with one. say gets how far it is. Errors: ErrRefused; that no outcome
// is known; else the store's, or the publisher's.
func (a *Actions) ReplayEach(
	ctx context.Context, names []ledger.EffectName, m ledger.Message, say func(Progress),
) error {
	id, p := m.ID, Progress{Total: len(names)}
	for wave := 1; p.Tried < p.Total; {
		refused := len(p.Refused)
		some := names[p.Tried:min(p.Tried+wave, p.Total)]
		began, err := a.Ledger.Now(ctx)
		for i := 0; err == nil && i < len(some); i++ {
			m.Operation, m.Effect, m.ID = some[i].Operation, some[i].Effect, fmt.Sprintf("%s-%d", id, p.Tried+i)
			p.Sent++
			_, _, err = a.Replay(ctx, m)
		}
		say(p)
		if err == nil {
			err = a.outcomes(ctx, some, began.Truncate(time.Microsecond), &p, say)
		}
		if err = cmp.Or(err, p.stops()); err != nil {
			return err
		}
		wave = NextWave(wave, len(p.Refused)-refused, len(p.Refused))
	}
	return nil
}

// outcomes waits for the outcome of one attempt at each of the effects, since then.
func (a *Actions) outcomes(
	ctx context.Context, waiting []ledger.EffectName, since time.Time, p *Progress, say func(Progress),
) error {
	ctx, cancel := context.WithTimeout(ctx, outcomeWithin)
	defer cancel()
	tick := time.Tick(cmp.Or(a.LookEvery, lookEvery))
	for {
		effects, _, err := a.Ledger.Effects.Read(ctx, waiting...)
		if err != nil {
			return err
		}
		before := len(waiting)
		waiting = waiting[:0:0]
		for _, e := range effects { // one that is gone, or cannot be read, has no outcome to wait for
			name := ledger.EffectName{Operation: e.Operation, Effect: e.Name}
			again := e.State == ledger.EffectPending && e.Failing != nil && !e.Failing.Last.Before(since)
			switch {
			case e.State == ledger.EffectDone:
				p.Done++
			case again, e.State == ledger.EffectDead && !e.DiedAt.Before(since):
				p.Refused = append(p.Refused, Refusal{EffectName: name, Error: e.LastError, Again: again})
			default:
				waiting = append(waiting, name)
			}
		}
		p.Tried += before - len(waiting)
		say(*p)
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return fmt.Errorf("the outcome of %s is not known: %w; they go on",
				phrase.Counted(len(waiting), "effect"), context.Cause(ctx))
		}
	}
}

// WaiveEach waives dead effects, and stops at the first that the ledger refuses. say gets how far it is.
func (a *Actions) WaiveEach(
	ctx context.Context, names []ledger.EffectName, d ledger.Decision, say func(Progress),
) error {
	p := Progress{Total: len(names)}
	for _, name := range names {
		if _, _, err := a.Waive(ctx, name.Operation, name.Effect, d); err != nil {
			return fmt.Errorf("%s of %s: %w", phrase.Safe(name.Effect), phrase.Safe(string(name.Operation)), err)
		}
		p.Sent, p.Tried, p.Done = p.Sent+1, p.Tried+1, p.Done+1
		say(p)
	}
	return nil
}
