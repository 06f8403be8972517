package linearizability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// The settings of every ledger: short leases, so that many run out while they are held.
const (
	claimTTL    = 150 * time.Millisecond
	maxAttempts = 5
	// tick is when the clients of all processes make their calls: together, so that they race.
	tick = claimTTL / 15
)

func settings() ledger.Settings {
	s := ledger.DefaultSettings()
	s.ClaimTTL, s.MaxAttempts, s.RetryFor = claimTTL, maxAttempts, 0
	s.Rules = []ledger.Rule{
		{Name: effectNames[0], On: []operation.State{operation.Succeeded, operation.Failed}},
		{Name: effectNames[1], On: []operation.State{operation.Succeeded}, JobKinds: []string{jobKind}},
	}
	return s
}

// A client calls a ledger of its own, one call after the other.
type client struct {
	id      int
	ledger  *ledger.Ledger
	random  *rand.Rand
	epoch   time.Time
	leases  []ledger.Lease  // all that it was granted in the round, also those that are over
	ended   map[string]bool // the operations of which it has seen the end
	misled  bool            // the present call has met a commit whose answer was not the truth
	races   int             // that the present call has lost
	history *history
}

func newClient(id int, store ledger.Store, seed uint64, epoch time.Time) (*client, error) {
	c := &client{id: id, random: rand.New(rand.NewPCG(seed, uint64(id))), epoch: epoch}
	var err error
	c.ledger, err = ledger.New(ledgertest.InjectFunc(racing{store, c}, c.fault), settings(), ledger.Options{})
	return c, err
}

// A racing is a store that counts the races which its client's calls lose.
type racing struct {
	ledger.Store
	client *client
}

// Commit is the store's.
func (r racing) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	tokens, err := r.Store.Commit(ctx, writes...)
	if errors.Is(err, ledger.ErrConflict) {
		r.client.races++
	}
	return tokens, err
}

// fault makes one commit in twenty go wrong.
func (c *client) fault() ledgertest.Fault {
	switch c.random.IntN(80) {
	case 0:
		return ledgertest.FailBefore
	case 1:
		return ledgertest.Abort
	case 2:
		c.misled = true
		return ledgertest.LoseAnswer
	case 3:
		c.misled = true
		return ledgertest.RepeatItself
	default:
		return ledgertest.None
	}
}

// begin makes the client write into h, and forget what it knows of other operations.
func (c *client) begin(h *history) { c.history, c.leases, c.ended = h, nil, map[string]bool{} }

// round makes so many calls about the operations.
func (c *client) round(ctx context.Context, h *history, keys []string, calls int) {
	c.begin(h)
	for n := range calls {
		c.step(ctx, keys[c.random.IntN(len(keys))], n == 0)
		pause := tick - time.Duration(clock())%tick
		if c.random.IntN(12) == 0 {
			pause += claimTTL // what it holds runs out
		}
		<-time.After(pause)
	}
}

// step makes one call, at random: about a lease that it was granted, or any other. The first of a
// round is a registration as often as an event.
func (c *client) step(ctx context.Context, key string, first bool) {
	dice := c.random.IntN(100)
	if first {
		dice = 75 + c.random.IntN(20)
	}
	switch {
	case len(c.leases) > 0 && dice < 40:
		lease := c.leases[len(c.leases)-1]
		if dice%4 == 0 { // an old one
			lease = c.leases[c.random.IntN(len(c.leases))]
		}
		in := input{Call: release, Key: string(lease.Operation), Fence: lease.Fence}
		if lease.Effect == effectNames[1] {
			in.Effect = 1
		}
		switch {
		case dice < 5:
			in.Call = finish
		case dice < 20:
			in.RetryAfter = 2 * tick
		}
		c.call(in, func() (output, error) { return c.end(ctx, in, lease) })
	case c.ended[key] && dice < 80 || dice < 10:
		in := input{Call: claim, Key: key, Effect: c.random.IntN(effects)}
		c.call(in, func() (output, error) { return c.claim(ctx, in) })
	case dice < 85:
		in := c.event(key)
		c.call(in, func() (output, error) { return c.ingest(ctx, in) })
	case dice < 95:
		in := input{Call: register, Key: key, JobKind: []string{"", jobKind}[c.random.IntN(2)]}
		c.call(in, func() (output, error) { return c.register(ctx, in) })
	default:
		c.read(ctx, key)
	}
}

// call makes a call, and finds out whether its answer is known.
func (c *client) call(in input, do func() (output, error)) output {
	return c.history.call(c.id, in, func() output {
		c.misled, c.races = false, 0
		out, err := do()
		out = answer(in, out, err, c.misled)
		out.Races = c.races
		c.ended[in.Key] = c.ended[in.Key] || ranks[out.State] == ended
		return out
	})
}

// answer returns what a call's answer proves. misled: it has met a commit whose answer was not the
// truth. Of the ledger's errors one alone does not say whether the writes were made, and one says
// that they were not. No other may come of these calls.
func answer(in input, out output, err error, misled bool) output {
	switch {
	case errors.Is(err, ledger.ErrUnavailable):
		return output{Unknown: err.Error()}
	case errors.Is(err, ledger.ErrContention) && !misled:
		return output{Refused: true}
	case err != nil && !errors.Is(err, ledger.ErrContention):
		return output{Failed: err.Error()}
	case misled && (err != nil || !proves(in, out)):
		return output{Unknown: "a commit's answer was lost, and the call's does not say what it did"}
	default:
		return out
	}
}

// proves reports whether an answer after a commit whose answer was lost is that of a call which
// took effect once: the call has found its own write. A registration has none to find. One whose
// lease was lost in a release may have lost it to a claim after its own release; a finish is for
// good.
func proves(in input, out output) bool {
	switch in.Call {
	case ingest, finish:
		return true
	case claim:
		return out.Verdict == "claimed"
	case release:
		return !out.Lost
	default:
		return false
	}
}

// event returns an event by its delivery's number, always the same for one number. One in two of
// those that would end the operation is left out.
func (c *client) event(key string) input {
	in := input{Call: ingest, Key: key, Source: []string{"webhook", "reconcile"}[c.random.IntN(2)]}
	for {
		in.Delivery = c.random.IntN(64)
		in.State = []string{
			"RUNNING", "RUNNING", "RUNNING", "REQUIRES_ACTION", "PENDING", "PAUSED", "RUNNING", "RUNNING",
			"RUNNING", "PENDING", "RUNNING", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "FAILED", "CANCELLED",
		}[in.Delivery%16]
		if !operation.State(in.State).Terminal() || c.random.IntN(2) == 0 {
			break
		}
	}
	if in.Delivery%5 != 0 || in.State == "PAUSED" {
		in.UpdateTime = c.epoch.Add(time.Duration(in.Delivery*37%64) * time.Millisecond).UnixMicro()
	}
	if in.State == "SUCCEEDED" && in.Delivery%3 != 0 {
		in.File = fmt.Sprintf("files/%d", in.Delivery)
	}
	return in
}

func (c *client) ingest(ctx context.Context, in input) (output, error) {
	e := operation.Event{
		Name:       operation.Name{Key: operation.Key(in.Key), Resource: in.Key},
		DeliveryID: fmt.Sprintf("msg_%d", in.Delivery), Source: operation.Source(in.Source), Type: "batch",
		State: operation.State(in.State), Result: operation.Result{OutputFile: in.File},
	}
	if in.Source == string(operation.Reconcile) {
		e.DeliveryID = fmt.Sprintf("reconcile-%d", in.Delivery)
	}
	if in.UpdateTime != 0 {
		e.UpdateTime = time.UnixMicro(in.UpdateTime)
	}
	r, err := c.ledger.Operations.Ingest(ctx, e)
	return output{
		Outcome: string(r.Outcome), Reason: string(r.Reason), Registered: r.Registered, State: string(r.State),
		Settled: r.Settled, Planned: r.Planned,
	}, err
}

func (c *client) register(ctx context.Context, in input) (output, error) {
	r, err := c.ledger.Operations.Register(ctx, ledger.Registration{
		Name:       operation.Name{Key: operation.Key(in.Key), Resource: in.Key},
		Submission: operation.Submission{JobKind: in.JobKind},
	})
	return output{Record: recordOf(r.Record), Created: r.Created, Planned: r.Planned}, err
}

func (c *client) read(ctx context.Context, key string) {
	c.call(input{Call: read, Key: key}, func() (output, error) {
		rec, err := c.ledger.Operations.Read(ctx, operation.Key(key))
		if errors.Is(err, ledger.ErrNotFound) {
			err = nil
		}
		return output{Record: recordOf(rec)}, err
	})
}

func (c *client) claim(ctx context.Context, in input) (output, error) {
	grant, err := c.ledger.Effects.Claim(ctx, operation.Key(in.Key), effectNames[in.Effect])
	out := output{Verdict: string(grant.Verdict)}
	if err != nil || grant.Verdict != ledger.Claimed {
		return out, err
	}
	c.leases = append(c.leases, grant.Lease)
	out.Fence, out.Attempt, out.Seized = grant.Lease.Fence, grant.Lease.Attempt, grant.Lease.Seized
	var p ledger.Payload
	err = json.Unmarshal(grant.Lease.Payload, &p)
	out.Payload = string(p.State) + " " + p.JobKind + " " + p.Result.OutputFile
	return out, err
}

// end finishes or releases a lease.
func (c *client) end(ctx context.Context, in input, lease ledger.Lease) (out output, err error) {
	if in.Call == finish {
		err = c.ledger.Effects.Finish(ctx, lease)
	} else {
		var failure ledger.Failure
		failure, err = c.ledger.Effects.Release(ctx, lease, errors.New("the receiver answered 500"), in.RetryAfter)
		out.Dead = failure.Dead
	}
	if errors.Is(err, ledger.ErrLeaseLost) {
		return output{Lost: true}, nil
	}
	return out, err
}

func recordOf(rec operation.Record) record {
	r := record{
		Version: rec.Version, State: string(rec.State), Registered: rec.Registered, JobKind: rec.JobKind,
		SettledBy: string(rec.SettledBy), File: rec.Result.OutputFile,
		Conflict: string(rec.ConflictState), ConflictBy: string(rec.ConflictBy),
	}
	if !rec.UpdateTime.IsZero() {
		r.UpdateTime = rec.UpdateTime.UnixMicro()
	}
	for i, name := range effectNames {
		r.Effects[i] = string(rec.Effects[name])
	}
	return r
}
