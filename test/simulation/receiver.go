package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/operation"
)

// A receipt is one request of an effect that reached its receiver, and was done.
type receipt struct {
	key, payload string
	fence        int64
}

// A receiver is what effects are sent to. It does what it gets, and does not deduplicate: what the
// promise leaves to real receivers is counted here.
type receiver struct {
	w        *World
	receipts []receipt
}

var errDeclined = errors.New("simulated: refused for good")

// receive does what a request asks for, or refuses it for good.
func (r *receiver) receive(of operation.Key, one receipt) error {
	if o := r.w.orderOf(of); o != nil && o.declines > 0 {
		o.declines--
		return effect.Permanent(errDeclined)
	}
	r.receipts = append(r.receipts, one)
	return nil
}

// perform sends one request, as a handler does.
func (r *receiver) perform(ctx context.Context, a *actor, task effect.Task) error {
	g := r.w.gate
	one := receipt{key: task.IdempotencyKey, payload: string(task.Payload), fence: task.Fence}
	send := &call{
		label: func() string { return fmt.Sprintf("%s: perform %s, fence %d", a.name, short(one.key), one.fence) },
		fates: performFates, unavailable: errNoAnswer,
		outside: true,
		do:      func() error { return r.receive(task.Operation, one) },
	}
	r.w.check.sent(a, task)
	send.handle = func(f fate) bool {
		switch f {
		case declined:
			g.reply(send, effect.Permanent(errDeclined))
		case hours: // the lease is extended meanwhile, which costs more
			a.disturbed.Store(true)
			g.replyLater(send, send.do(), takesLong)
		case stopped:
			if g.choose(Orphan, 2) == 1 {
				_ = send.do() // its caller gets no answer
			}
			a.process.stopping = true
			a.process.stop(effect.ErrStopped)
		default:
			return false
		}
		return true
	}
	return a.send(ctx, send)
}
