package ledger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A silentStore makes every commit, and answers a read after a time or, where that is 0, never.
type silentStore struct {
	Store
	after time.Duration
}

func (silentStore) Commit(_ context.Context, writes ...Write) ([]Token, error) {
	return make([]Token, len(writes)), nil
}

func (s silentStore) Get(ctx context.Context, paths ...Path) (Snapshot, error) {
	if s.after == 0 {
		<-ctx.Done()
		return Snapshot{}, ctx.Err()
	}
	time.Sleep(s.after)
	return Snapshot{Documents: make([]Document, len(paths))}, nil
}

type brokenTopic struct{}

var errBrokenTopic = errors.New("the topic is broken")

func (brokenTopic) Publish(context.Context, Message) error { return errBrokenTopic }

// TestRequeueWithoutAnAnswer: a store that does not answer while a message is taken back is
// unavailable. The caller's time is not over. An answer that came late is an answer.
func TestRequeueWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for after, unavailable := range map[time.Duration]bool{0: true, publishTimeout + time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			l, err := New(silentStore{after: after}, DefaultSettings(), Options{Publisher: brokenTopic{}})
			if err != nil {
				t.Fatal(err)
			}
			err = l.Effects.Requeue(t.Context(), DueEffect{}, time.Now())
			if !errors.Is(err, errBrokenTopic) || errors.Is(err, ErrUnavailable) != unavailable ||
				errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("answered after %v: %v", after, err)
			}
		})
	}
}
