package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// A World is everything that a schedule happens in: the real protocol over simulated parts.
type World struct {
	gate      *gate
	store     *store
	gemini    *service
	receiver  *receiver
	check     *checker
	settings  ledger.Settings
	processes []*process
	orders    []*order
	messages  int
	passes    int

	// objects are the job storage of a world of jobs; nil: it is none.
	objects     *objects
	submissions []*submission
}

// The rules: one effect at every end, one for every alert, and one of [eachRule].
const publishRule, pageRule = "publish", "page"

// settings are the defaults, shortened where a schedule would be long without showing more.
func settings() ledger.Settings {
	s := ledger.DefaultSettings()
	s.StuckAfter, s.BatchStuckAfter, s.MaxAttempts, s.RetryFor = 12*time.Minute, 0, 2, 0
	s.Rules = []ledger.Rule{
		{Name: publishRule, On: []operation.State{
			operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired,
		}},
		{Name: eachRule, On: []operation.State{operation.Succeeded}, JobKinds: []string{batchKind}},
		{Name: pageRule, Alerts: ledger.Alerts()},
	}
	return s
}

// instances is how many processes serve requests.
const instances = 3

func newWorld(chooser Chooser) *World {
	w := &World{gate: newGate(chooser), settings: settings()}
	w.check = newChecker(w)
	w.store = newStore(w.check)
	w.gemini = &service{w: w, asked: map[operation.Key]int{}}
	w.receiver = &receiver{w: w}
	for i := range instances {
		w.processes = append(w.processes, newProcess(fmt.Sprintf("process %d", i+1)))
	}
	return w
}

// pick returns the process that the next request goes to. Where one died or stopped there is a new
// one in its place.
func (w *World) pick() *process {
	i := w.gate.choose(Where, len(w.processes))
	p := w.processes[i]
	if p.dead || p.stopping {
		p = newProcess(p.name + "'")
		w.processes[i] = p
	}
	return p
}

// deliver brings an event to the webhook until it is accepted, as Gemini does.
func (w *World) deliver(e operation.Event, copies int) {
	const tries, patience = 3, 10 * time.Second
	for try := range tries {
		what := fmt.Sprintf("webhook %s, try %d", e.DeliveryID, try+1)
		if copies > 1 {
			what += fmt.Sprintf(", copy %d", copies)
		}
		var p *process
		gone := w.arrival(what, webhookFates, func() { p = w.pick() }, func() {
			w.gate.spawn(func() { w.deliver(e, copies+1) })
		})
		if gone {
			return
		}
		err := w.serve(p, what, patience, func(ctx context.Context, a *actor) error {
			receipt, err := a.ledger().Operations.Ingest(ctx, e)
			if err == nil {
				w.check.ingested(a, e, receipt)
			}
			return err
		})
		if err == nil {
			return
		}
		time.Sleep(time.Minute<<try + 19*time.Millisecond)
	}
}

// arrival waits until something arrives from outside, with the fates of that. It reports whether it
// never does.
func (w *World) arrival(what string, fates []fate, arrive, again func()) (gone bool) {
	var chosen fate
	w.gate.event(what, func() {
		if n := w.gate.choose(Fate, len(fates)+1); n > 0 {
			chosen = fates[n-1]
			w.gate.note("  "+what, chosen.String())
		}
		w.gate.met[chosen.String()]++
		if chosen == twice {
			again()
		}
		if chosen != late {
			arrive()
		}
	})
	if chosen == late {
		time.Sleep(frozenFor)
		w.gate.event(what, arrive)
	}
	return chosen == dropped
}

// accept takes a message in at the topic, and has it delivered, so many times at once.
func (w *World) accept(m ledger.Message, copies int) {
	w.messages++
	m.ID = fmt.Sprintf("m%d", w.messages)
	for i := range copies {
		w.gate.spawn(func() { w.push(m, i) })
	}
}

// push brings a message to a worker until it is acknowledged, or the topic has tried often enough:
// from then on it is lost, and the sweep must do.
func (w *World) push(m ledger.Message, number int) {
	const tries, patience = 3, time.Hour
	for try := range tries {
		what := fmt.Sprintf("message %s (%s of %s), try %d", m.ID, m.Effect, short(m.Operation), try+1)
		if number > 0 {
			what += fmt.Sprintf(", copy %d", number+1)
		}
		var p *process
		if w.arrival(what, messageFates, func() { p = w.pick() }, func() {
			w.gate.spawn(func() { w.push(m, number+1) })
		}) {
			return
		}
		err := w.serve(p, what, patience, func(ctx context.Context, a *actor) error {
			report, err := a.runner().Run(ctx, m)
			if err == nil && report.Again() {
				return errAgain
			}
			if err == nil {
				w.check.ran(a, report)
			}
			return err
		})
		if err == nil {
			return
		}
		time.Sleep(11*time.Second<<try + 13*time.Millisecond)
	}
}

var errAgain = errors.New("the message is to be redelivered")

// pass makes one reconcile pass in some process.
func (w *World) pass() {
	var p *process
	number := 0
	w.gate.event("the schedule calls for a pass", func() {
		w.passes++
		p, number = w.pick(), w.passes
	})
	const patience = 5 * time.Minute
	_ = w.serve(p, fmt.Sprintf("pass %d", number), patience, func(ctx context.Context, a *actor) error {
		_, err := a.reconciler().Pass(ctx)
		return err
	})
}

// An order is one batch that a submitter wants.
type order struct {
	id                   string
	start                time.Duration
	runsAfter, endsAfter time.Duration
	end                  operation.State
	forged               bool
	items                int  // of its result; 0: no effect runs for each
	silent               bool // Gemini sends no event of its batch
	declines             int  // so many requests of its effects their receiver refuses for good
	intent               bool // it is submitted with an intent; else it is registered once its name is known
	skew                 time.Duration

	batches    []*batch
	registered bool // the submitter knows that its batch is registered
	over       bool // its program is not started again
}

// orderOf returns the order of an operation; nil where there is none.
func (w *World) orderOf(key operation.Key) *order {
	for _, o := range w.orders {
		if slices.ContainsFunc(o.batches, func(j *batch) bool { return j.name.Key == key }) {
			return o
		}
	}
	return nil
}

// submit is a submitter's program: it is started again where it did not end well.
func (w *World) submit(o *order) {
	defer w.gate.event("the submitter of "+o.id+" is done", func() { o.over = true })
	time.Sleep(o.start)
	const runs, patience = 3, 5 * time.Minute
	for run := range runs {
		what := fmt.Sprintf("submitter of %s, run %d", o.id, run+1)
		w.gate.event(what, nil)
		p := newProcess(what)
		err := w.serve(p, "submit", patience, func(ctx context.Context, a *actor) error {
			if o.intent {
				return w.submitWithIntent(ctx, a, o)
			}
			return w.register(ctx, a, o)
		})
		if err == nil {
			return
		}
		time.Sleep(5*time.Minute + 31*time.Second)
	}
}

func (w *World) submitWithIntent(ctx context.Context, a *actor, o *order) error {
	create := func(ctx context.Context, mark submit.Mark) (string, error) { return w.gemini.create(ctx, a, o, mark) }
	said := operation.Submission{CorrelationID: o.id, JobKind: o.kind()}
	_, err := a.submitter().Submit(ctx, said, operation.Batches, create)
	return err
}

// register registers an order's batch, which is created at the first run.
func (w *World) register(ctx context.Context, a *actor, o *order) error {
	var j *batch
	w.gate.event(a.name+": the batch starts", func() {
		if len(o.batches) == 0 {
			w.gemini.start(o, "", nil)
		}
		j = o.batches[0]
	})
	registered, err := a.ledger().Operations.Register(ctx, ledger.Registration{
		Name: j.name, Submission: operation.Submission{JobKind: o.kind()}, SubmittedAt: time.Now().Add(o.skew),
	})
	if err == nil {
		w.check.registered(a, registered)
		w.gate.event(a.name+": the batch is registered", func() { o.registered = true })
	}
	return err
}

// short makes a name readable: a key's zeros say nothing.
func short[T ~string](name T) string {
	parts := strings.FieldsFunc(string(name), func(r rune) bool { return r == '0' })
	return strings.Join(parts, "")
}

// dead returns the effects that are DEAD, in the order of their names.
func (w *World) dead() []ledger.Effect {
	var dead []ledger.Effect
	for _, d := range w.store.documents {
		if e, ok := d.data.(ledger.Effect); ok && e.State == ledger.EffectDead {
			dead = append(dead, e)
		}
	}
	slices.SortFunc(dead, func(a, b ledger.Effect) int {
		return strings.Compare(a.IdempotencyKey, b.IdempotencyKey)
	})
	return dead
}
