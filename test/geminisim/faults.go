package geminisim

import (
	"fmt"
	"time"
)

// Faults is the fault plan: how often each thing goes wrong. Shares are
// probabilities from 0 to 1, durations are before Config.Speed. The zero value
// is a world in which every batch succeeds and all goes well.
type Faults struct {
	// Failed, Cancelled and Expired are shares of the batches that end so; the
	// others succeed. An expired batch does not take its 48 hours: it ends
	// after a run time like any other. No event tells of a cancelled one.
	Failed    float64 `json:"failed"`
	Cancelled float64 `json:"cancelled"`
	Expired   float64 `json:"expired"`
	// FailedItems is the share of result lines, within batches that succeed,
	// that carry an error instead of a response.
	FailedItems float64 `json:"failedItems"`

	// Lost is the share of completions that are never sent.
	Lost float64 `json:"lost"`
	// Repeated is the share of completions sent again, one to three times, at
	// once or within RepeatedWithin of the first, same webhook-id, fresh
	// timestamp.
	Repeated       float64       `json:"repeated"`
	RepeatedWithin time.Duration `json:"repeatedWithin"`
	// Late is the share of completions held back, by up to LateBy.
	Late   float64       `json:"late"`
	LateBy time.Duration `json:"lateBy"`
	// Reordered is the share of batches whose progress event arrives after
	// their completion, by up to ReorderedBy. The event is `batch.running`,
	// which is none of the seven documented types: it stands for what a later
	// version of the API, or another sender, may send.
	Reordered   float64       `json:"reordered"`
	ReorderedBy time.Duration `json:"reorderedBy"`
	// BareIDs is the share of deliveries whose data.id is the bare id instead
	// of batches/ and the id. Which of them Gemini sends is not documented.
	BareIDs float64 `json:"bareIDs"`

	// WindowEvery and WindowLength give the receiver's deploy windows: one in
	// each WindowEvery, at a random place, WindowLength long. During one, an
	// attempt gets a 503, or no answer, or reaches the receiver and its answer
	// is lost, a third each. Zero: no windows.
	WindowEvery  time.Duration `json:"windowEvery"`
	WindowLength time.Duration `json:"windowLength"`

	// Shares of the API's answers to reading requests (batches.get and list,
	// and file downloads): APIErrors are 500, 503 and 504 as JSON and 502 as
	// HTML; APIRateLimited is 429 with Retry-After; APIStale answers the
	// state before the present one; APIHollow is a 200 that says nothing
	// (an `error` body, or no metadata; measured against SDK v1.77.0: no error
	// and no state).
	APIErrors      float64 `json:"apiErrors"`
	APIRateLimited float64 `json:"apiRateLimited"`
	APIStale       float64 `json:"apiStale"`
	APIHollow      float64 `json:"apiHollow"`
	// CreatesLost is the share of batch creations that are carried out while
	// their answer is a 503: the job runs and its submitter does not know the
	// name. Creating is not idempotent (documented).
	CreatesLost float64 `json:"createsLost"`
}

// None is a world without faults.
func None() Faults { return Faults{} }

// Normal is a bad week: about a tenth of the completions is lost, and about as
// many are late, repeated and overtaken.
func Normal() Faults {
	return Faults{
		Failed: 0.05, Cancelled: 0.05, Expired: 0.02, FailedItems: 0.05,
		Lost:     0.1,
		Repeated: 0.1, RepeatedWithin: 2 * time.Minute,
		Late: 0.1, LateBy: 5 * time.Minute,
		Reordered: 0.1, ReorderedBy: time.Minute,
		BareIDs:     0.3,
		WindowEvery: 10 * time.Minute, WindowLength: 45 * time.Second,
		APIErrors: 0.02, APIRateLimited: 0.02, APIStale: 0.05, APIHollow: 0.01,
	}
}

// Harsh is far worse than anything reported of Gemini: most completions meet a
// fault, and the API itself cannot be relied on.
func Harsh() Faults {
	return Faults{
		Failed: 0.1, Cancelled: 0.1, Expired: 0.05, FailedItems: 0.2,
		Lost:     0.3,
		Repeated: 0.4, RepeatedWithin: 10 * time.Minute,
		Late: 0.3, LateBy: 20 * time.Minute,
		Reordered: 0.4, ReorderedBy: 5 * time.Minute,
		BareIDs:     0.5,
		WindowEvery: 5 * time.Minute, WindowLength: 90 * time.Second,
		APIErrors: 0.1, APIRateLimited: 0.1, APIStale: 0.15, APIHollow: 0.05,
		CreatesLost: 0.05,
	}
}

// ParseFaults returns the preset of that name: none, normal or harsh.
func ParseFaults(name string) (Faults, error) {
	switch name {
	case "none":
		return None(), nil
	case "normal":
		return Normal(), nil
	case "harsh":
		return Harsh(), nil
	}
	return Faults{}, fmt.Errorf("geminisim: no fault plan is named %q: use none, normal or harsh", name)
}

// plan is what will happen to one batch, all of it drawn when it is created.
type plan struct {
	queue, run  time.Duration // in PENDING, in RUNNING
	final       State
	items       int           // result lines, for a batch whose input is a file
	lost        bool          // the completion is never sent
	late        time.Duration // the completion is held back
	repeats     []time.Duration
	reordered   bool
	reorderedBy time.Duration
	itemErrors  float64
	bareIDs     float64
}

// newPlan draws the plan of the batch created nth. The number of draws before
// each one is fixed, so that one share changed in a fault plan leaves the
// rest of the batch as it was.
func (s *Sim) newPlan(nth string, f Faults) plan {
	r := s.rand("plan", nth)
	p := plan{final: StateSucceeded, itemErrors: f.FailedItems, bareIDs: f.BareIDs}

	least, most := s.cfg.RunTime[0], s.cfg.RunTime[1]
	total := least + share(r.Float64(), most-least)
	p.queue = share(0.1+0.2*r.Float64(), total)
	p.run = total - p.queue

	switch x := r.Float64(); {
	case x < f.Failed:
		p.final = StateFailed
	case x < f.Failed+f.Cancelled:
		p.final = StateCancelled
	case x < f.Failed+f.Cancelled+f.Expired:
		p.final = StateExpired
	}
	p.items = 3 + r.IntN(10)

	p.lost = r.Float64() < f.Lost
	late, by := r.Float64() < f.Late, r.Float64()
	if late {
		p.late = share(by, f.LateBy)
	}
	repeated, times := r.Float64() < f.Repeated, 1+r.IntN(3)
	for i := range 3 {
		at, atOnce := share(r.Float64(), f.RepeatedWithin), r.Float64() < 0.3
		if atOnce {
			at = 0 // the very same moment: two instances of the receiver race
		}
		if repeated && i < times {
			p.repeats = append(p.repeats, at)
		}
	}
	p.reordered = r.Float64() < f.Reordered
	p.reorderedBy = share(r.Float64(), f.ReorderedBy)
	return p
}

func share(x float64, d time.Duration) time.Duration { return time.Duration(x * float64(d)) }

// fate is what the road between sender and receiver does to an attempt.
type fate int

const (
	delivered   fate = iota
	refused          // something in front of the receiver answers 503
	unreachable      // no answer at all
	answerLost       // the receiver gets it, its answer does not come back
)

// fate says what happens to an attempt made now. Windows follow from the seed
// and the simulated time, the kind of trouble from the seed and the attempt.
func (s *Sim) fate(msgID string, nth string) fate {
	every, length := s.cfg.Faults.WindowEvery, s.cfg.Faults.WindowLength
	if every <= 0 || length <= 0 {
		return delivered
	}
	t := s.elapsed()
	k := t / every
	// Each period has its window wholly inside itself, so that a look at one
	// period is enough.
	from := share(s.rand("window", fmt.Sprint(int64(k))).Float64(), every-length)
	if in := t - k*every; in < from || in >= from+length {
		return delivered
	}
	return refused + fate(s.rand("fate", msgID, nth).IntN(3))
}
