package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An audit watches the ledger from outside and holds it against what the simulator and the receiver know.
type audit struct {
	ledger   *ledger.Ledger
	receiver *receiver
	sim      *geminisim.Sim
	messages *unreliable
	wanted   int
	since    time.Time              // by the store's clock
	acked    func() []operation.Key // the operations that were told to be registered

	records   map[operation.Key]operation.Record // as last seen
	settled   map[operation.Key]operation.State  // once seen settled
	regressed map[operation.Key]bool
}

// errSameSeed: the same seed makes the same names, and those have been through it all.
var errSameSeed = errors.New("the store holds the operations of an earlier run with this seed; choose another --seed, or a new file with --store")

// look reads the whole ledger.
func (a *audit) look(ctx context.Context) error {
	records := make(map[operation.Key]operation.Record, a.wanted)
	before := map[operation.Key]bool{}
	filter := ledger.Filter{Limit: 500}
	for {
		page, err := a.ledger.List(ctx, filter)
		if ctx.Err() != nil {
			return nil // the run is over
		}
		if err != nil {
			return fmt.Errorf("watching the ledger: %w", err)
		}
		for _, broken := range page.Broken {
			return fmt.Errorf("watching the ledger: %w", broken)
		}
		for _, r := range page.Items {
			if r.CreatedAt.Before(a.since) { // the store may have been there before this run
				before[r.Key] = true
			} else {
				records[r.Key] = r
			}
		}
		if filter.After = page.Next; page.Next.Path == "" {
			break
		}
	}
	if len(before) > 0 {
		for _, batch := range a.sim.Batches() {
			if before[operation.Key(batch.Name)] {
				return errSameSeed
			}
		}
	}
	if a.settled == nil {
		a.settled, a.regressed = map[operation.Key]operation.State{}, map[operation.Key]bool{}
	}
	for key, state := range a.settled {
		if r, there := records[key]; !there || r.State != state {
			a.regressed[key] = true
		}
	}
	for key, r := range records {
		if r.Settled() {
			a.settled[key] = r.State
		}
	}
	a.records = records
	return nil
}

// Progress is how far the run has come.
type Progress struct {
	Wanted, Submitted, Settled, Done int
	Simulator                        geminisim.Stats
	Records                          []operation.Record // registered ones
}

func (a *audit) progress() Progress {
	p := Progress{Wanted: a.wanted, Simulator: a.sim.Stats()}
	for _, r := range a.records {
		if !r.Registered {
			continue
		}
		p.Records = append(p.Records, r)
		p.Submitted++
		if r.Settled() {
			p.Settled++
		}
		if r.Closed() {
			p.Done++
		}
	}
	return p
}

// done reports whether every operation is closed and no delivery is under way any more, so that nothing can still go wrong.
func (a *audit) done() bool {
	p := a.progress()
	return p.Done >= a.wanted && p.Simulator.Open == 0
}

// A Summary is the outcome of a run.
type Summary struct {
	Operations int `json:"operations"`
	// Lost: operations whose effect was not done and never will be. Doubled: idempotency keys that the receiver accepted twice.
	// Regressed: operations that were seen settled and then seen otherwise.
	Lost      int `json:"lost"`
	Doubled   int `json:"doubled"`
	Regressed int `json:"regressed"`
	// Unfinished: operations that the ledger still waits for, or that were not submitted yet, when the run ended.
	Unfinished int `json:"unfinished"`
	// Wrong: operations whose state in the ledger is not the one at Gemini.
	Wrong int `json:"wrong"`

	SettledByWebhook   int `json:"settledByWebhook"`
	SettledByReconcile int `json:"settledByReconcile"` // recovered: the webhook did not tell in time
	Unregistered       int `json:"unregistered"`       // known from deliveries alone

	DeliveriesLost      int `json:"deliveriesLost"`
	DeliveriesRepeated  int `json:"deliveriesRepeated"`
	DeliveriesLate      int `json:"deliveriesLate"`
	DeliveriesReordered int `json:"deliveriesReordered"`
	DeliveriesRetried   int `json:"deliveriesRetried"`
	DeployWindowHits    int `json:"deployWindowHits"`
	APIFaults           int `json:"apiFaults"`

	MessagesLost       int `json:"messagesLost"` // on the way from a planned effect to the one that runs it
	MessagesRepeated   int `json:"messagesRepeated"`
	EffectsRefused     int `json:"effectsRefused"`     // by the receiver, before anything was done
	EffectAnswersLost  int `json:"effectAnswersLost"`  // done, but the receiver's answer was lost
	EffectRepeatsKnown int `json:"effectRepeatsKnown"` // repeats of those, which the receiver recognised

	Seed    uint64  `json:"seed"` // the same one brings the same faults
	Seconds float64 `json:"seconds"`
	ending  ending
}

// Clean reports whether the run kept every promise, as far as it went.
func (s Summary) Clean() bool {
	return s.Lost == 0 && s.Doubled == 0 && s.Regressed == 0 && s.Wrong == 0
}

func (a *audit) summary(took time.Duration) Summary {
	stats, received := a.sim.Stats(), a.receiver.counts()
	s := Summary{
		Operations: a.wanted, Doubled: received.doubled, Regressed: len(a.regressed),
		DeliveriesLost: stats.Lost, DeliveriesRepeated: stats.Repeated, DeliveriesLate: stats.Late,
		DeliveriesReordered: stats.Reordered, DeliveriesRetried: stats.Retries,
		DeployWindowHits: stats.WindowRefused + stats.AnswersLost,
		APIFaults:        stats.APIErrors + stats.APIRateLimited + stats.APIStale + stats.APIHollow + stats.APICreatesLost,
		EffectsRefused:   received.refused, EffectAnswersLost: received.answersLost, EffectRepeatsKnown: received.excused,
		MessagesLost: int(a.messages.lost.Load()), MessagesRepeated: int(a.messages.repeated.Load()),
		Seconds: took.Round(10 * time.Millisecond).Seconds(),
	}
	truth := map[string]geminisim.State{}
	for _, batch := range a.sim.Batches() {
		truth[batch.Name] = batch.State
	}
	s.Lost, s.Unfinished = a.undone()
	for _, r := range a.records {
		if !r.Registered {
			s.Unregistered++
			continue
		}
		if r.Settled() && string(truth[string(r.Key)]) != "BATCH_STATE_"+string(r.State) {
			s.Wrong++
		}
		switch r.SettledBy {
		case operation.Webhook:
			s.SettledByWebhook++
		case operation.Reconcile:
			s.SettledByReconcile++
		}
	}
	return s
}

// undone counts the operations whose effect was not done: those for which nothing waits any more, and those that are only
// unfinished.
func (a *audit) undone() (lost, unfinished int) {
	known := map[operation.Key]bool{}
	for _, r := range a.records {
		if r.Registered {
			known[r.Key] = true
		}
	}
	for _, key := range a.acked() {
		known[key] = true
	}
	for key := range known {
		r, there := a.records[key]
		switch {
		case r.Closed() && r.Registered && a.receiver.times(operation.IdempotencyKey(key, publishEffect)) > 0:
		case !there, !r.Registered, r.Closed(), r.DeadEffect:
			lost++
		default:
			unfinished++
		}
	}
	return lost, unfinished + max(a.wanted-len(known), 0) // what was not submitted, too
}
