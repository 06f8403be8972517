package local

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// An ending is why a run ended.
type ending int

const (
	allDone  ending = iota // every operation is closed, and no delivery is under way
	atRest                 // nothing moved any more
	timeOver               // Options.MaxTime had passed
)

// The pause between two looks at the ledger is lookEvery, and lookPause times as long as the look took
// where that is longer: it reads all of the ledger, and must leave the machine to what it watches.
const (
	lookEvery = 100 * time.Millisecond
	lookPause = 4
)

// play submits the operations and goes on while anything moves, until all is done or the time is over.
// Then submit has returned, and audit has looked once more.
func play(ctx context.Context, o Options, audit *audit, submit func(context.Context) error) (ending, error) {
	playing, cancel := context.WithTimeout(ctx, cmp.Or(o.MaxTime, DefaultMaxTime))
	defer cancel()
	submitted := make(chan error, 1)
	go func() { submitted <- submit(playing) }()
	ended, running, err := watch(playing, o, audit, submitted)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cancel()
	if running {
		<-submitted // that it was cut off is no error of its own
	}
	if err == nil {
		err = audit.look(ctx)
	}
	o.View.Show(audit.progress())
	return ended, err
}

// watch looks at the ledger until the run has ended, and reports whether submitted has yet to be told.
func watch(ctx context.Context, o Options, audit *audit, submitted <-chan error) (ended ending, running bool, err error) {
	var still stillness
	rest := stillAfter(audit.ledger.Settings())
	next := time.NewTimer(lookEvery)
	defer next.Stop()
	for running = true; ; {
		select {
		case err := <-submitted:
			if running = false; err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return timeOver, running, err
			}
			submitted = nil
		case <-ctx.Done():
			return timeOver, running, nil
		case <-next.C:
			began := time.Now()
			if err := audit.look(ctx); err != nil {
				return timeOver, running, err
			}
			o.View.Show(audit.progress())
			if !running && audit.done() {
				return allDone, running, nil
			}
			now := time.Now()
			if still.lasts(now, audit.motion()) >= rest {
				if waits, err := audit.waits(ctx, rest); err != nil || !waits {
					return atRest, running, err
				}
			}
			next.Reset(max(lookEvery, lookPause*now.Sub(began)))
		}
	}
}
