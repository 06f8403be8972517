package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// inBubble runs a scene with nothing to submit, on a simulated clock.
func inBubble(
	t *testing.T, wanted int, maxTime time.Duration, meanwhile func(*scene),
) (got Summary, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.audit.wanted = wanted
		began := time.Now()
		over := make(chan struct{})
		go func() {
			defer close(over)
			meanwhile(s)
		}()
		ended, err := submitAndWatch(t.Context(), Options{View: Silent{}, MaxTime: maxTime}, s.audit,
			func(context.Context) error { return nil })
		if err != nil {
			t.Error(err)
		}
		took = time.Since(began)
		<-over
		got = s.audit.summary(took)
		got.ending = ended
	})
	return got, took
}

// another registers one more operation that has ended, and does its effect.
func (s *scene) another(i int) {
	s.t.Helper()
	key := operation.Key(fmt.Sprintf("batches/another-%d", i))
	name := operation.Name{Key: key, Resource: string(key)}
	_, err := s.audit.ledger.Operations.Register(s.t.Context(), ledger.Registration{Name: name})
	if err == nil {
		_, err = s.audit.ledger.Operations.Ingest(s.t.Context(), operation.Event{
			Name: name, DeliveryID: "1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
		})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	first := s.key
	s.key = key
	s.runEffect()
	s.key = first
}

// TestWatchWhileAnythingChanges: a run lasts as long as it makes progress, and all of it is
// audited.
func TestWatchWhileAnythingChanges(t *testing.T) {
	t.Parallel()
	const more = 12
	got, took := inBubble(t, 1+more, time.Hour, func(s *scene) {
		s.runEffect()
		for i := range more {
			time.Sleep(10 * time.Second)
			s.another(i)
		}
	})
	if got.ending != allDone || got.Lost != 0 || got.Unfinished != 0 || took < more*10*time.Second {
		t.Errorf("%+v after %v", got, took)
	}
}

// TestWatchEndsWhenIdle: a run without changes ends, and the operations that have not ended are
// unfinished, not lost.
func TestWatchEndsWhenIdle(t *testing.T) {
	t.Parallel()
	var rest time.Duration
	got, took := inBubble(t, 3, time.Hour, func(s *scene) {
		rest = idleAfter(s.audit.ledger.Settings())
		s.runEffect()
	})
	if got.ending != idle || got.Lost != 0 || got.Unfinished != 2 || took < rest || took > rest+time.Second {
		t.Errorf("%+v after %v, with a rest of %v", got, took, rest)
	}
}

// TestWatchWaitsForScheduledWork: a run waits for the end of a back-off; if the effect is not tried
// then, the run is idle.
func TestWatchWaitsForScheduledWork(t *testing.T) {
	t.Parallel()
	got, took := inBubble(t, 1, time.Hour, func(s *scene) {
		grant, err := s.audit.ledger.Effects.Claim(s.t.Context(), s.key, publishEffect)
		if err == nil {
			_, err = s.audit.ledger.Effects.Release(s.t.Context(), grant.Lease, errors.New("no"), 2*time.Minute)
		}
		if err != nil {
			s.t.Error(err)
		}
	})
	if got.ending != idle || got.Unfinished != 1 || got.Lost != 0 || took < 2*time.Minute {
		t.Errorf("%+v after %v", got, took)
	}
}

// TestWatchEndsInTime: at its time limit a run ends, and says so; nothing counts as lost, and
// nothing as proven.
func TestWatchEndsInTime(t *testing.T) {
	t.Parallel()
	got, took := inBubble(t, 1000, time.Minute, func(s *scene) {
		s.runEffect()
		for i := range 5 {
			time.Sleep(10*time.Second + time.Millisecond)
			s.another(i)
		}
	})
	if got.ending != timeOver || took != time.Minute || got.Lost != 0 || got.Unfinished != 994 {
		t.Errorf("%+v after %v", got, took)
	}
	var said strings.Builder
	if err := got.Print(&said); err != nil || !strings.Contains(said.String(), "\nunfinished 994: the time ran out") ||
		!strings.HasSuffix(said.String(), "\nlost 0 · doubled 0 · regressed 0\n") || !strings.Contains(got.Unproven(),
		"--max-time") {
		t.Errorf("%v %s%s", err, &said, got.Unproven())
	}
}

// TestIdleTimer: any change of a count restarts it, and so does an operation that Gemini still
// runs.
func TestIdleTimer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s idleTimer
	for _, c := range []struct {
		after time.Duration
		m     activity
		want  time.Duration
	}{
		{0, activity{}, 0},
		{time.Second, activity{}, time.Second},
		{time.Hour, activity{}, time.Hour + time.Second},
		{time.Second, activity{submitted: 1}, 0},
		{time.Second, activity{submitted: 1}, time.Second},
		{time.Second, activity{submitted: 1, received: receiverStats{refused: 1}}, 0},
		{time.Second, activity{submitted: 1, received: receiverStats{refused: 1}, created: 1}, 0},
		{time.Hour, activity{submitted: 1, received: receiverStats{refused: 1}, created: 1}, 0},
		{time.Hour, activity{submitted: 1, received: receiverStats{refused: 1}, created: 1, ended: 1}, 0},
		{time.Minute, activity{submitted: 1, received: receiverStats{refused: 1}, created: 1, ended: 1}, time.Minute},
		{time.Minute, activity{submitted: 1, received: receiverStats{refused: 1}, created: 1, ended: 1, deliveries: 1}, 0},
	} {
		at = at.Add(c.after)
		if got := s.idle(at, c.m); got != c.want {
			t.Errorf("%+v after %v: still for %v, want %v", c.m, c.after, got, c.want)
		}
	}
}
