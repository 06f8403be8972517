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
	allDone  ending = iota // every operation is closed, and no delivery is in progress
	idle                   // nothing changed any more
	timeOver               // Options.MaxTime had passed
)

// The pause between two scans is scanEvery, or scanPause times as long as the scan took if that is
// longer: a scan reads the whole ledger, and must not starve what it watches.
const (
	scanEvery = 100 * time.Millisecond
	scanPause = 4
)

// submitAndWatch submits the operations, and watches them until all are done, nothing changes any
// more, or the time is over. When it returns, submit has returned, and the audit has made a last
// scan.
func submitAndWatch(ctx context.Context, o Options, audit *audit, submit func(context.Context) error) (ending, error) {
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
		<-submitted // ignore the error of being cut off
	}
	if err == nil {
		err = audit.scan(ctx)
	}
	o.View.Show(audit.progress())
	return ended, err
}

// watch scans the ledger until the run has ended, and reports whether submit is still running.
func watch(
	ctx context.Context, o Options, audit *audit, submitted <-chan error,
) (ended ending, running bool, err error) {
	var timer idleTimer
	limit := idleAfter(audit.ledger.Settings())
	next := time.NewTimer(scanEvery)
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
			if err := audit.scan(ctx); err != nil {
				return timeOver, running, err
			}
			o.View.Show(audit.progress())
			if !running && audit.done() {
				return allDone, running, nil
			}
			now := time.Now()
			if timer.idle(now, audit.activity()) >= limit {
				if more, err := audit.hasScheduledWork(ctx, limit); err != nil || !more {
					return idle, running, err
				}
			}
			next.Reset(max(scanEvery, scanPause*now.Sub(began)))
		}
	}
}
