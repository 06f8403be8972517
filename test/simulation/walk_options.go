package simulation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// options returns what can happen now: a call arrives, or its process dies before it or after it,
// or time passes. That a process dies while no call of it arrives, or that a call arrives long
// after its process died, makes no difference to any other: no one sees when it died.
func (x *Walking) options() []func() {
	var options []func()
	for _, i := range x.w.gate.ready() {
		a := x.stateOf(i.of)
		if a == nil {
			options = append(options, func() { x.arrive(i, nil, "") })
			continue
		}
		if x.waits(a) {
			continue
		}
		label := i.label()
		arrives := []func(){func() { x.arrive(i, a, label) }}
		if x.doomed(a, label) {
			return arrives
		}
		if x.crashes < x.small.Crashes && a.began {
			arrives = append(arrives, func() { x.die(a, i) }, func() { x.die(a, nil) })
		}
		if x.unseen(label) || x.follows(a, label) {
			return arrives
		}
		options = append(options, arrives...)
	}
	if len(options) == 0 {
		return nil
	}
	if !x.timeless() {
		options = append(options, func() { x.jumps++; time.Sleep(x.small.Jumps[x.jumps-1]) })
	}
	return options
}

func (x *Walking) stateOf(p *process) *actorState {
	for _, a := range x.actors {
		if a.process == p {
			return a
		}
	}
	return nil
}

// die lets a process die. If last is not nil this call arrives, and no other.
func (x *Walking) die(a *actorState, last *item) {
	x.crashes++
	x.w.gate.kill(a.process)
	for _, i := range slices.Clone(x.w.gate.items) {
		if i.of == a.process {
			x.lands = 0
			if i == last {
				x.lands = 1
			}
			x.take(i)
			i.run()
		}
	}
}

// What the labels of calls have between their process and what they are about.
const (
	commits  = ": commit "
	performs = ": perform "
)

// A hand is a process's client of the store, which keeps what is on its way.
type hand struct {
	connection
	state *actorState
}

// commit returns the writes of a call that is a commit; none of any other call.
func (a *actorState) commit(label string) []ledger.Write {
	_, text, _ := strings.Cut(label, commits)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes[text]
}

// Commit is the connection's.
func (h hand) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	h.state.mu.Lock()
	h.state.writes[written(writes)] = writes
	h.state.mu.Unlock()
	return h.connection.Commit(ctx, writes...)
}
