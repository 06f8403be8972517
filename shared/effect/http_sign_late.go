package effect

import (
	"context"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// lateGap is the least time between two attempts to load what a LateSigner signs with.
const lateGap = 10 * time.Second

// LateSigner returns a signer that is loaded at its first use, so that a process can start without
// its secrets. Until load has succeeded each attempt fails with load's error and is retried;
// nothing is sent unsigned. load is called at most once in 10 s.
func LateSigner(load func(context.Context) (*Signer, error)) *Signer {
	return &Signer{late: &lateKeys{load: load}}
}

// lateKeys are the keys of a LateSigner.
type lateKeys struct {
	load func(context.Context) (*Signer, error)

	mu    sync.Mutex
	keys  []*standardwebhooks.Webhook
	err   error     // of the last load
	tried time.Time // when that was
}

func (l *lateKeys) get(ctx context.Context, now time.Time) ([]*standardwebhooks.Webhook, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys != nil || l.err != nil && now.Sub(l.tried) < lateGap {
		return l.keys, l.err
	}
	signer, err := l.load(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err // for want of time, so the next caller must try again
	}
	if l.tried, l.err = now, err; err != nil {
		return nil, err
	}
	l.keys = signer.keys
	return l.keys, nil
}
