package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// An audit watches the ledger from outside, and compares it with the simulator and the receiver.
type audit struct {
	ledger   *ledger.Ledger
	receiver *receiver
	sim      *geminisim.Sim
	messages *unreliable
	wanted   int
	since    time.Time              // by the store's clock
	acked    func() []operation.Key // the operations whose registration was acknowledged

	wantedJobs []wantedJob
	storage    storage.Storage                     // of the jobs
	jobs       map[operation.Key]progress.Progress // by the last scan

	records   map[operation.Key]operation.Record // by the last scan
	settled   map[operation.Key]operation.State  // first settled state that was seen
	regressed map[operation.Key]bool
}

// errSameSeed: the same seed makes the same names, whose operations have ended.
var errSameSeed = errors.New("the store holds the operations of an earlier run with this seed; " +
	"choose another --seed, or a new file with --store")

// scan reads the whole ledger, and compares it with the last scan.
func (a *audit) scan(ctx context.Context) error {
	records, err := a.read(ctx)
	if err != nil || records == nil {
		return err
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
	return a.scanJobs(ctx)
}

// read returns the records of this run, or nil once ctx has ended.
func (a *audit) read(ctx context.Context) (map[operation.Key]operation.Record, error) {
	records := make(map[operation.Key]operation.Record, a.wanted)
	earlier := map[operation.Key]bool{} // of other runs in the same store
	filter := ledger.Filter{Limit: 500}
	for {
		page, err := a.ledger.Operations.List(ctx, filter)
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("watching the ledger: %w", err)
		}
		for _, broken := range page.Broken {
			return nil, fmt.Errorf("watching the ledger: %w", broken)
		}
		for _, r := range page.Items {
			if r.CreatedAt.Before(a.since) {
				earlier[r.Key] = true
			} else {
				records[r.Key] = r
			}
		}
		if filter.After = page.Next; page.Next.Path == "" {
			break
		}
	}
	if len(earlier) > 0 {
		for _, batch := range a.sim.Batches() {
			if earlier[operation.Key(batch.Name)] {
				return nil, errSameSeed
			}
		}
	}
	return records, nil
}

// Progress is the state of a run.
type Progress struct {
	Wanted, Submitted, Settled, Done int
	Jobs                             JobProgress
	Simulator                        geminisim.Stats
	Records                          []operation.Record // of registered operations
}

func (a *audit) progress() Progress {
	p := Progress{Wanted: a.wanted, Jobs: a.jobProgress(), Simulator: a.sim.Stats()}
	for _, r := range a.records {
		if !r.Registered || isJobs(r) {
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

// done reports whether every operation and every job is closed and no delivery is in progress, so that nothing
// can change any more.
func (a *audit) done() bool {
	p := a.progress()
	return p.Done >= a.wanted && p.Jobs.Ended >= p.Jobs.Wanted && p.Simulator.Open == 0
}

// summary counts the outcome after the run.
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
		atGemini := r.Key.Collection() != operation.Jobs
		if atGemini && r.Settled() && string(truth[string(r.Key)]) != "BATCH_STATE_"+string(r.State) {
			s.Wrong++
		}
		switch {
		case isJobs(r):
		case r.SettledBy == operation.Webhook:
			s.SettledByWebhook++
		case r.SettledBy == operation.Reconcile:
			s.SettledByReconcile++
		}
	}
	return s
}

// undone counts the operations and jobs whose effect is not done: lost ones, which the ledger no longer
// waits for, and unfinished ones.
func (a *audit) undone() (lost, unfinished int) {
	known := map[operation.Key]bool{}
	for _, r := range a.records {
		if r.Registered && !r.IsPart() { // the batch of a job has no effect but a step
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
	return lost, unfinished + max(a.wanted+len(a.wantedJobs)-len(known), 0) // with those that were not submitted
}
