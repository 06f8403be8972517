package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An actorState is where a process of a small world stands.
type actorState struct {
	process *process
	group   string // of processes that do the same
	began   bool   // one of its calls has arrived
	// past is what it asked and was answered, and when. Of a try that lost a race only that it did is
	// kept: the next one reads all again. beforeTry is the past before the try, while the process has
	// only read, one call at a time.
	past, beforeTry uint64
	onlyRead        bool
	reads           int // of the try

	mu     sync.Mutex
	done   bool
	writes map[string][]ledger.Write // of its commits, by what their labels say
}

// arrive lets a call arrive, and notes what its process learns: of a read what the store holds, and
// when; of any other whether it worked.
func (x *Walking) arrive(i *item, a *actorState, label string) {
	x.take(i)
	x.picked = 0
	store, before, now := x.documents(), x.w.store.commits, uint64(time.Now().UnixNano())
	i.run()
	if a == nil {
		return
	}
	a.began = true
	if x.w.gate.busy(a.process) { // with two calls at once it is not told which try each is of
		a.onlyRead = false
		defer func() { a.onlyRead = false }()
	}
	switch {
	case strings.Contains(label, commits):
		a.reads = 0
		if x.small.Pivot != "" && !x.writesPivot(a.commit(label)) {
			x.w.check.violated("%s does not write %s, on which the walk relies", label, x.small.Pivot)
		}
		x.committed(a, x.w.store.commits > before, now)
	case strings.Contains(label, performs):
		a.onlyRead, a.reads = false, 0
		a.past = mix(a.past, label, x.picked, now)
	default:
		if !a.onlyRead {
			a.beforeTry, a.onlyRead, a.reads = a.past, true, 0
		}
		a.reads++
		a.past = mix(a.past, label, store, now)
	}
}

func (x *Walking) committed(a *actorState, won bool, now uint64) {
	switch {
	case won:
		a.past, a.onlyRead = mix(a.past, "won", now), false
	case a.onlyRead:
		a.past = mix(a.beforeTry, "again", now)
	default:
		a.past = mix(a.past, "lost", now)
	}
}

// busy reports whether a call of a process is on its way.
func (g *gate) busy(p *process) bool {
	return slices.ContainsFunc(g.items, func(i *item) bool { return i.of == p })
}

// take takes an item out of what can happen.
func (x *Walking) take(i *item) {
	g := x.w.gate
	g.items = slices.DeleteFunc(g.items, func(other *item) bool { return other == i })
	g.steps++
}

// state is the hash of the present state.
func (x *Walking) state() uint64 {
	hash := mix(x.documents(), "", uint64(x.crashes), uint64(x.jumps), uint64(time.Now().UnixNano()))
	for _, a := range x.actors {
		past := a.past
		if a.ended() {
			past = 1
		}
		hash = mix(hash, "", past)
	}
	for _, i := range x.w.gate.items { // in any order, like what the receiver got
		hash += mix(1, i.label())
	}
	for _, r := range x.w.receiver.receipts {
		hash += mix(0, r.payload, uint64(r.fence))
	}
	return hash
}

// documents is the hash of what the store holds.
func (x *Walking) documents() uint64 {
	hash := uint64(0)
	for _, path := range slices.Sorted(maps.Keys(x.w.store.documents)) {
		hash = mix(hash, string(path))
		hash = mix(hash, string(x.w.store.documents[path].body))
	}
	return hash
}

func mix(hash uint64, text string, numbers ...uint64) uint64 {
	h := fnv.New64a()
	for _, n := range append(numbers, hash) {
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], n)
		_, _ = h.Write(bytes[:]) // a hash returns no error
	}
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

func (a *actorState) ended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// Start runs a request in a process of its own, with the real ledger. Processes of one group do the
// same, so that they can begin in their order. What the ledger draws depends on
// nothing but how often the process drew. Nothing is published: messages are the small world's own.
func (x *Walking) Start(group, name string, do func(ctx context.Context, a *actor, l *ledger.Ledger) error) {
	const patience = 365 * 24 * time.Hour
	state := &actorState{process: newProcess(name), group: group, writes: map[string][]ledger.Write{}}
	x.actors = append(x.actors, state)
	w, drawn := x.w, 0
	w.gate.spawn(func() {
		_ = w.serve(state.process, name, patience, func(ctx context.Context, a *actor) error {
			l, err := ledger.New(hand{connection{a}, state}, w.settings, ledger.Options{
				Nonce:  func() string { drawn++; return fmt.Sprintf("%s-%d", name, drawn) },
				Jitter: func() float64 { return 0 },
			})
			if err != nil {
				return err
			}
			return do(ctx, a, l)
		})
		state.mu.Lock()
		state.done = true
		state.mu.Unlock()
	})
}
