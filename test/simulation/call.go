package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// errDied is what every call of a process gets once it has died. Its goroutines then end without a
// further effect.
var errDied = errors.New("this process is dead")

// A call is one request that leaves a process.
type call struct {
	label func() string
	// fates are what may become of it, beside that it works.
	fates []fate
	// outside: the call is to Gemini or to a receiver.
	outside bool
	// do is what happens where the request arrives. Its error is the answer.
	do func() error
	// unavailable is the answer where there is none.
	unavailable error
	// handle deals with the fates that only this kind of call has. It reports whether it did.
	handle func(fate) bool
	// provoked are fates that it has often, for a flaw: see Flaw.provokes.
	provoked []fate
	// lateBy is by how much it is late, where it is; 0: lateBy.
	lateBy time.Duration
	// soon: where its caller is gone it arrives soon or never.
	soon bool

	sent    time.Time
	by      *actor
	answer  chan error
	settled bool // it has been answered, or its caller is gone
}

// send waits until the call is answered. Where ctx ends first the caller goes on, and the request
// may still arrive.
func (g *gate) send(ctx context.Context, by *actor, c *call) error {
	c.by, c.answer, c.sent = by, make(chan error, 1), time.Now()
	g.mu.Lock()
	dead := by.process.dead || g.brokenOff
	g.mu.Unlock()
	if dead {
		return errDied
	}
	g.arrive(&item{at: time.Now(), of: by.process, label: c.label, run: func() { g.arrives(ctx, c) }})
	select {
	case err := <-c.answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for an answer: %w", context.Cause(ctx))
	}
}

// arrives decides the fate of a request.
func (g *gate) arrives(ctx context.Context, c *call) {
	if c.by.process.dead || g.brokenOff || ctx.Err() != nil { // the caller is gone; the request may be on its way
		landed := g.choose(Orphan, 2) == 1 && !(c.soon && time.Since(c.sent) > lateBy)
		if landed {
			_ = c.do() // its caller gets no answer
		}
		g.noteOrphan(c, landed)
		g.reply(c, errDied)
		return
	}
	about, chosen := Fate, works
	switch {
	case c.outside:
		about = Outside
	case g.many:
		about = Seldom
	}
	switch n := g.choose(about, len(c.fates)+1); {
	case n > 0:
		chosen = c.fates[n-1]
	case len(c.provoked) > 0 && g.choose(Plan, 3) == 1:
		chosen = c.provoked[g.choose(Plan, len(c.provoked))]
	}
	g.met[chosen.String()]++
	if c.handle != nil && c.handle(chosen) {
		g.noteFate(c, chosen, nil)
		return
	}
	g.noteFate(c, chosen, g.perform(c, chosen))
}

// perform carries out a fate that any call may have. It returns the answer.
func (g *gate) perform(c *call, chosen fate) error {
	var err error
	switch chosen {
	case refused:
		err = c.unavailable
		g.reply(c, err)
	case answerLost:
		_ = c.do()
		err = c.unavailable
		g.reply(c, err)
	case late:
		g.later(cmp.Or(c.lateBy, lateBy), nil, func() string { return "at last " + c.label() }, func() {
			g.note("at last "+c.label(), outcomeOf(c.do()))
		})
		err = c.unavailable
		g.reply(c, err)
	case slow:
		err = c.do()
		g.replyLater(c, err, slowBy)
	case frozen:
		err = c.do()
		c.by.process.frozen = time.Now().Add(frozenFor)
		g.replyLater(c, err, 0)
	case diesBefore:
		g.kill(c.by.process)
		g.reply(c, errDied)
	case diesAfter:
		err = c.do()
		g.kill(c.by.process)
		g.reply(c, errDied)
	default:
		err = c.do()
		g.reply(c, err)
	}
	return err
}

func (g *gate) reply(c *call, err error) {
	if !c.settled {
		c.settled = true
		c.answer <- err
	}
}

func (g *gate) replyLater(c *call, err error, after time.Duration) {
	label := func() string { return "answer to " + c.label() }
	g.later(after, c.by.process, label, func() {
		if g.trace != nil {
			g.note(label(), "")
		}
		if c.by.process.dead {
			err = errDied
		}
		g.reply(c, err)
	})
}
