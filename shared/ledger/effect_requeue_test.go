package ledger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A silentStore makes every commit, and answers no read.
type silentStore struct{ Store }

func (silentStore) Commit(_ context.Context, writes ...Write) ([]Token, error) {
	return make([]Token, len(writes)), nil
}

func (silentStore) Get(ctx context.Context, _ ...Path) (Snapshot, error) {
	<-ctx.Done()
	return Snapshot{}, ctx.Err()
}

type brokenTopic struct{}

var errBrokenTopic = errors.New("the topic is broken")

func (brokenTopic) Publish(context.Context, Message) error { return errBrokenTopic }

// TestRequeueWithoutAnAnswer: a store that does not answer while a message is taken back is
// unavailable. The caller's time is not over.
func TestRequeueWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, err := New(silentStore{}, DefaultSettings(), Options{Publisher: brokenTopic{}})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Requeue(t.Context(), DueEffect{}, time.Now())
		if !errors.Is(err, errBrokenTopic) || !errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
