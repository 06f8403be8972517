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

// inBubble plays a scene, with nothing to submit, where time passes only while everything waits.
func inBubble(t *testing.T, wanted int, maxTime time.Duration, meanwhile func(*scene)) (got Summary, took time.Duration) {
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
		ended, err := play(t.Context(), Options{View: Silent{}, MaxTime: maxTime}, s.audit, func(context.Context) error { return nil })
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
	_, err := s.audit.ledger.Register(s.t.Context(), ledger.Registration{Name: name})
	if err == nil {
		_, err = s.audit.ledger.Ingest(s.t.Context(), operation.Event{
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

// TestPlayGoesOnWhileAnythingMoves: a run takes as long as it needs while it gets on, and then all of it
// is judged.
func TestPlayGoesOnWhileAnythingMoves(t *testing.T) {
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

// TestPlayEndsAtRest: a run in which nothing moves any more ends, and what it did not come to the end of
// is unfinished, not lost.
func TestPlayEndsAtRest(t *testing.T) {
	t.Parallel()
	var rest time.Duration
	got, took := inBubble(t, 3, time.Hour, func(s *scene) {
		rest = stillAfter(s.audit.ledger.Settings())
		s.runEffect()
	})
	if got.ending != atRest || got.Lost != 0 || got.Unfinished != 2 || took < rest || took > rest+time.Second {
		t.Errorf("%+v after %v, with a rest of %v", got, took, rest)
	}
}

// TestPlayWaitsForAppointments: an effect that backs off has yet to be tried, however long that takes;
// once that has passed and it is not tried, the run is at rest.
func TestPlayWaitsForAppointments(t *testing.T) {
	t.Parallel()
	got, took := inBubble(t, 1, time.Hour, func(s *scene) {
		grant, err := s.audit.ledger.Claim(s.t.Context(), s.key, publishEffect)
		if err == nil {
			_, err = s.audit.ledger.Release(s.t.Context(), grant.Lease, errors.New("no"), 2*time.Minute)
		}
		if err != nil {
			s.t.Error(err)
		}
	})
	if got.ending != atRest || got.Unfinished != 1 || got.Lost != 0 || took < 2*time.Minute {
		t.Errorf("%+v after %v", got, took)
	}
}

// TestPlayEndsInTime: at its time a run ends, whatever moves, and says so in words of its own; nothing is
// called lost, and nothing proven.
func TestPlayEndsInTime(t *testing.T) {
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
	if err := got.Print(&said); err != nil || !strings.Contains(said.String(), "\nunfinished 994: the time was over") ||
		!strings.HasSuffix(said.String(), "\nlost 0 · doubled 0 · regressed 0\n") || !strings.Contains(got.Unproven(), "--max-time") {
		t.Errorf("%v %s%s", err, &said, got.Unproven())
	}
}

// TestStillness: any change is a motion, and so is what Gemini still runs.
func TestStillness(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s stillness
	for _, c := range []struct {
		after time.Duration
		m     motion
		want  time.Duration
	}{
		{0, motion{}, 0},
		{time.Second, motion{}, time.Second},
		{time.Hour, motion{}, time.Hour + time.Second},
		{time.Second, motion{submitted: 1}, 0},
		{time.Second, motion{submitted: 1}, time.Second},
		{time.Second, motion{submitted: 1, received: receiverStats{refused: 1}}, 0},
		{time.Second, motion{submitted: 1, received: receiverStats{refused: 1}, created: 1}, 0},
		{time.Hour, motion{submitted: 1, received: receiverStats{refused: 1}, created: 1}, 0},
		{time.Hour, motion{submitted: 1, received: receiverStats{refused: 1}, created: 1, ended: 1}, 0},
		{time.Minute, motion{submitted: 1, received: receiverStats{refused: 1}, created: 1, ended: 1}, time.Minute},
		{time.Minute, motion{submitted: 1, received: receiverStats{refused: 1}, created: 1, ended: 1, deliveries: 1}, 0},
	} {
		at = at.Add(c.after)
		if got := s.lasts(at, c.m); got != c.want {
			t.Errorf("%+v after %v: still for %v, want %v", c.m, c.after, got, c.want)
		}
	}
}
