package geminisim

import "time"

// plan is the future of one operation, drawn when it is created.
type plan struct {
	queue, run  time.Duration // in its first state, in its second
	final       State
	items       int           // result lines, for a batch whose input is a file
	lost        bool          // the completion is never sent
	late        time.Duration // the completion is held back
	repeats     []time.Duration
	reordered   bool
	reorderedBy time.Duration
	itemErrors  float64
	bareIDs     float64
	hidden      time.Duration // from a get, after the creation
	staleRow    bool          // a list never shows the end

	// Of a batch. lines has the shares of its result's lines, and part the share of the lines that it
	// has if it is cancelled. refused is FAILED because of what was asked.
	lines                              Faults
	part                               float64
	refused, foreignInput, stillCounts bool
	ignoresCancel                      bool
}

// newPlan draws the plan of one operation. Each draw has a fixed position, so that changing one
// share of a fault plan does not change the rest.
func (s *Sim) newPlan(k *kind, nth string, f Faults) plan {
	r := s.rand("plan", nth)
	p := plan{final: k.succeeded, itemErrors: f.FailedItems, bareIDs: f.BareIDs}

	least, most := s.cfg.RunTime[0], s.cfg.RunTime[1]
	total := least + share(r.Float64(), most-least)
	p.queue = share(0.1+0.2*r.Float64(), total)
	p.run = total - p.queue

	switch x := r.Float64(); {
	case x < f.Failed:
		p.final = k.failed
	case x < f.Failed+f.Cancelled:
		p.final = k.cancelled
	case x < f.Failed+f.Cancelled+f.Expired:
		p.final = k.expired
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
	hidden, hiddenFor := r.Float64() < f.Hidden, share(r.Float64(), f.HiddenFor)
	if hidden && k.hides {
		p.hidden = hiddenFor
	}
	p.staleRow = r.Float64() < f.StaleRows
	return p
}

func share(x float64, d time.Duration) time.Duration { return time.Duration(x * float64(d)) }
