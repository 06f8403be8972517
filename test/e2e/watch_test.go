package e2e

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A watch reads the whole ledger again and again and complains of everything that went back.
type watch struct {
	fleet  *fleet
	ledger *ledger.Ledger
	stop   context.CancelFunc
	over   chan struct{}

	mu      sync.Mutex
	records map[operation.Key]operation.Record
	looks   int
	ended   int // registered operations that are settled with every effect done or, where it was given up, dead
}

func (f *fleet) watch() *watch {
	f.t.Helper()
	ctx, stop := context.WithCancel(f.t.Context())
	w := &watch{
		fleet: f, ledger: f.ledger(), stop: stop, over: make(chan struct{}),
		records: map[operation.Key]operation.Record{},
	}
	go func() {
		defer close(w.over)
		const least = 200 * time.Millisecond
		for pause := least; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			w.look(ctx)
			pause = max(least, 10*time.Since(began)) // a large ledger is read less often
		}
	}()
	f.t.Cleanup(w.close)
	return w
}

func (w *watch) close() {
	w.stop()
	<-w.over
}

// look reads the ledger and compares it with what was seen before.
func (w *watch) look(ctx context.Context) {
	now := map[operation.Key]operation.Record{}
	for filter := (ledger.Filter{Limit: 500}); ; {
		page, err := w.ledger.Operations.List(ctx, filter)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ledger.ErrUnavailable) {
			return // what was seen last still holds; the next look shows more
		}
		if err != nil {
			w.fleet.t.Errorf("watching the ledger: %v", err)
			return
		}
		for _, record := range page.Items {
			now[record.Key] = record
		}
		if filter.After = page.Next; page.Next.Path == "" {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	w.ended = 0
	for _, record := range now {
		if record.Registered && rests(record) {
			w.ended++
		}
		if record.Registered && !record.Settled() && record.DueAt.IsZero() {
			w.fleet.t.Errorf("%s is pending and never due: %+v", record.Key, record)
		}
	}
	for key, before := range w.records {
		w.compare(before, now[key])
	}
	w.records = now
}

// compare finds what no later look may undo [M5, M9, L3, S7].
func (w *watch) compare(before, after operation.Record) {
	t := w.fleet.t
	switch {
	case after.Key == "":
		t.Errorf("%s is gone from the ledger", before.Key)
	case before.Settled() && (after.State != before.State || after.SettledBy != before.SettledBy ||
		!after.SettledAt.Equal(before.SettledAt)):
		t.Errorf("regressed: %s was %s by %s at %v, is %s by %s at %v", before.Key,
			before.State, before.SettledBy, before.SettledAt, after.State, after.SettledBy, after.SettledAt)
	case after.Version < before.Version || after.LookUps < before.LookUps || before.Registered && !after.Registered:
		t.Errorf("%s went back from %+v to %+v", before.Key, before, after)
	}
	for name, status := range before.Effects {
		if status != operation.EffectOpen && after.Effects[name] != status { // no operator acts here
			t.Errorf("effect %s of %s was %q, is %q", name, before.Key, status, after.Effects[name])
		}
	}
}

func (w *watch) seen() (map[operation.Key]operation.Record, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.records), w.looks
}

// rests reports whether an operation is settled and no effect of it is open.
func rests(record operation.Record) bool {
	for _, status := range record.Effects {
		if !status.Closed() && status != operation.EffectDead {
			return false
		}
	}
	return record.Settled()
}

// rested counts the registered operations that rest.
func (w *watch) rested() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}
