package simulation

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/submit"
)

// A process is one instance of the functions. What runs in it dies with it.
type process struct {
	name   string
	ctx    context.Context
	stop   context.CancelCauseFunc
	frozen time.Time // until then it stands still
	dead   bool      // guarded by the gate's mutex
	// stopping: it was told to stop, and gets no more requests.
	stopping bool
	// told ends once it is told to begin nothing more; what it has begun goes on.
	told context.Context //nolint:containedctx // of the process
	tell context.CancelFunc
}

func newProcess(name string) *process {
	p := &process{name: name}
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	p.told, p.tell = context.WithCancel(context.Background())
	return p
}

// kill ends a process. Nothing that it does from now on leaves it.
func (g *gate) kill(p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.dead, p.frozen = true, time.Time{}
}

// An actor is one request that a process serves: a delivery, a message, a pass, a submission. It has a
// ledger of its own over the one store, as if each request had an instance of its own: what requests
// share in a process is no part of the protocol.
type actor struct {
	w       *World
	process *process
	name    string
	cost    cost
	began   time.Time // its first read
	// disturbed: a call was not answered in the ordinary way, so that its cost is not the published one.
	disturbed atomic.Bool
}

// serve runs a request in a process.
func (w *World) serve(p *process, name string, within time.Duration, do func(context.Context, *actor) error) error {
	a := &actor{w: w, process: p, name: p.name + ": " + name}
	ctx := effect.WithStop(context.WithValue(p.ctx, actorKey{}, a), p.told)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return do(ctx, a)
}

type actorKey struct{}

// draw returns a number that depends on nothing but the actor and the step, so that it is the same
// in whichever order goroutines run between two steps.
func (a *actor) draw(of string) uint64 {
	a.w.gate.mu.Lock()
	step := a.w.gate.steps
	a.w.gate.mu.Unlock()
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, of, a.name, step) // a hash returns no error
	return hash.Sum64()
}

// ledger returns the real ledger over the simulated store and topic.
func (a *actor) ledger() *ledger.Ledger {
	l, err := ledger.New(connection{a}, a.w.settings, ledger.Options{
		Publisher: connection{a},
		Nonce:     func() string { return fmt.Sprintf("n%016x", a.draw("nonce")) },
		Jitter:    func() float64 { return float64(a.draw("jitter")>>11) / (1 << 53) },
	})
	if err != nil {
		panic(err) // the settings are this package's own
	}
	return l
}

// runner returns the real runner, whose handlers call the simulated receiver.
func (a *actor) runner() *effect.Runner {
	perform := effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		return nil, a.w.receiver.perform(ctx, a, task)
	})
	handlers := map[string]effect.Handler{publishRule: perform, pageRule: perform, eachRule: a.each(perform)}
	if a.w.objects != nil {
		maps.Copy(handlers, a.steps())
	}
	return effect.NewRunner(a.ledger(), handlers)
}

// reconciler returns the real reconciler, whose look-ups ask the simulated Gemini.
func (a *actor) reconciler() *reconcile.Reconciler {
	return reconcile.New(reconcile.Options{
		Ledger: a.ledger(), Gemini: lookups(), Dynamic: true, Log: slog.New(slog.DiscardHandler),
	})
}

// submitter returns the real submitter.
func (a *actor) submitter() *submit.Submitter {
	l := a.ledger()
	return submit.New(submit.Options{Intents: l.Intents, Operations: l.Operations})
}

// send is the gate's send, by this actor.
func (a *actor) send(ctx context.Context, c *call) error {
	err := a.w.gate.send(ctx, a, c)
	if err != nil {
		a.disturbed.Store(true)
	}
	return err
}

// errUnavailable is what the store answers where it does not.
var errUnavailable = fmt.Errorf("simulated: %w", ledger.ErrUnavailable)

var errNoAnswer = errors.New("simulated: no answer")

// A connection is a process's client of the store and of the topic.
type connection struct{ *actor }

var (
	_ ledger.Store     = connection{}
	_ ledger.Publisher = connection{}
)

// Get reads documents as of the instant in which the request arrives.
func (c connection) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	var snapshot ledger.Snapshot
	err := c.send(ctx, &call{
		label: func() string { return c.name + ": get " + namesOf(paths) }, fates: readFates, unavailable: errUnavailable,
		do: func() error {
			if c.began.IsZero() {
				c.began = time.Now()
			}
			snapshot = c.w.store.get(&c.cost, paths)
			return nil
		},
	})
	if err != nil {
		return ledger.Snapshot{}, err
	}
	return snapshot, nil
}

// Commit writes all or nothing.
func (c connection) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	writes, err := sent(writes)
	if err != nil {
		return nil, err
	}
	var tokens []ledger.Token
	err = c.send(ctx, &call{
		label: func() string { return c.name + ": commit " + written(writes) }, fates: commitFates,
		unavailable: errUnavailable,
		do:          func() (err error) { tokens, err = c.w.store.commit(c.actor, writes); return err },
	})
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// Query finds documents as of the instant in which the request arrives.
func (c connection) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	var found []ledger.Document
	err := c.send(ctx, &call{
		label: func() string { return c.name + ": query " + q.Collection + " by " + q.OrderBy }, fates: readFates,
		unavailable: errUnavailable,
		do:          func() error { found = c.w.store.query(&c.cost, q); return nil },
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Count counts what Query finds.
func (c connection) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	q.Limit = ceiling
	found, err := c.Query(ctx, q)
	return len(found), err
}

// Close does nothing.
func (c connection) Close() error { return nil }

// Publish hands a message to the topic.
func (c connection) Publish(ctx context.Context, m ledger.Message) error {
	publish := &call{
		label: func() string { return fmt.Sprintf("%s: publish %s of %s", c.name, m.Effect, m.Operation) },
		fates: publishFates, unavailable: errNoAnswer,
		do: func() error { c.w.accept(m, 1); return nil },
	}
	publish.handle = func(f fate) bool {
		switch f {
		case dropped:
		case twice:
			c.w.accept(m, 2)
		default:
			return false
		}
		c.w.gate.reply(publish, nil)
		return true
	}
	return c.send(ctx, publish)
}

// RoundTrip makes a request of Gemini's client, whose context knows the actor.
type roundTripper struct{}

func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(actorKey{}).(*actor)
	if !ok {
		return nil, errors.New("simulated: a request of no actor")
	}
	return a.w.gemini.serve(a, r, lookingUp, askFates)
}
