package geminisim

import (
	"context"
	"fmt"
)

// Stats counts events since New. All counters but Open only grow.
type Stats struct {
	// Created and Settled count operations of every kind that were created, and that reached a
	// terminal state.
	Created int `json:"created"`
	Settled int `json:"settled"`
	// Deliveries counts attempts to deliver, including retries, repeats and pings, even if nothing
	// was sent.
	Deliveries int `json:"deliveries"`
	// Accepted counts attempts whose answer of 2xx arrived.
	Accepted int `json:"accepted"`
	// Retries counts attempts after the first of the same delivery.
	Retries int `json:"retries"`
	// Open is how many deliveries are under way or waiting: planned, late, or between two attempts.
	Open int `json:"open"`
	// Lost counts events that the plan never sends. GaveUp counts deliveries whose retries ran out,
	// or whose webhook was deleted or disabled.
	Lost   int `json:"lost"`
	GaveUp int `json:"gaveUp"`
	// Repeated, Late and Reordered count planned faults: a second delivery of the same event, a
	// delayed one, and a progress event after the end.
	Repeated  int `json:"repeated"`
	Late      int `json:"late"`
	Reordered int `json:"reordered"`
	// WindowRefused counts attempts that a deploy window stopped. AnswersLost counts those that
	// arrived but whose answer was lost.
	WindowRefused int `json:"windowRefused"`
	AnswersLost   int `json:"answersLost"`
	// Pings counts requests for a ping.
	Pings int `json:"pings"`
	// APIRequests counts all requests to the API. The next five count by the kind of request,
	// whatever the answer; Creates are of every kind. JWKSRequests are not included.
	APIRequests     int `json:"apiRequests"`
	Creates         int `json:"creates"`
	BatchGets       int `json:"batchGets"`
	BatchLists      int `json:"batchLists"`
	VideoGets       int `json:"videoGets"`
	InteractionGets int `json:"interactionGets"`
	JWKSRequests    int `json:"jwksRequests"`
	// The next ones count requests that a fault changed. APIHidden counts gets of an operation that is
	// not visible yet. Scripted answers are only in APIScripted.
	APIErrors      int `json:"apiErrors"`
	APIRateLimited int `json:"apiRateLimited"`
	APIStale       int `json:"apiStale"`
	APIHollow      int `json:"apiHollow"`
	APICreatesLost int `json:"apiCreatesLost"`
	APIHidden      int `json:"apiHidden"`
	APIScripted    int `json:"apiScripted"`
	APIUploadsLost int `json:"apiUploadsLost"`
	// CreatesRefused counts creations that were answered 400 by the plan or by Config.Poison, and CreatesDenied those
	// answered as with a wrong key. QuotaRefused counts creations and uploads beyond Config.Quotas. The next two count
	// creations.
	CreatesRefused int `json:"createsRefused"`
	CreatesDenied  int `json:"createsDenied"`
	QuotaRefused   int `json:"quotaRefused"`
	CreatesTwice   int `json:"createsTwice"`
	CreatesSlow    int `json:"createsSlow"`
	// BatchesRefused counts batches that FAILED for what they ask. PartialResults counts cancelled ones
	// that have a result file, ForeignInputs gets that showed another input file, and CancelsIgnored
	// requests to cancel that were answered alone.
	BatchesRefused int `json:"batchesRefused"`
	PartialResults int `json:"partialResults"`
	ForeignInputs  int `json:"foreignInputs"`
	CancelsIgnored int `json:"cancelsIgnored"`
	// The rest counts lines of results of uploaded files, once for each batch, when it ends with them:
	// see the shares of the same name. FailedItems is part of ItemErrors.
	ItemErrors      int `json:"itemErrors"`
	RefusedItems    int `json:"refusedItems"`
	Blocked         int `json:"blocked"`
	Safety          int `json:"safety"`
	Truncated       int `json:"truncated"`
	BadJSON         int `json:"badJSON"`
	MissingLines    int `json:"missingLines"`
	NullLines       int `json:"nullLines"`
	UnreadableLines int `json:"unreadableLines"`
	DoubledLines    int `json:"doubledLines"`
	ForeignLines    int `json:"foreignLines"`
}

// Stats returns the counters.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// WaitFor returns nil as soon as cond holds, or ctx's error. It calls cond after every change of
// the counters. A test waits like this:
//
//	err := sim.WaitFor(ctx, func(s geminisim.Stats) bool { return s.Settled == 20 && s.Open == 0 })
func (s *Sim) WaitFor(ctx context.Context, cond func(Stats) bool) error {
	for {
		s.mu.Lock()
		now, changed := s.stats, s.changed
		s.mu.Unlock()
		if cond(now) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("geminisim: waiting with the counters at %+v: %w", now, ctx.Err())
		}
	}
}

// count changes the counters and wakes WaitFor.
func (s *Sim) count(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countLocked(change)
}

func (s *Sim) countLocked(change func(*Stats)) {
	change(&s.stats)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Completion is the state of the delivery of an operation's end.
type Completion string

const (
	// CompletionNone: the operation has not ended, or no event reports its end. The state may have
	// none (a cancelled batch, a failed video, an incomplete interaction), or no webhook subscribes
	// to it.
	CompletionNone Completion = "none"
	// CompletionOpen: being delivered, or waiting for its next attempt.
	CompletionOpen Completion = "open"
	// CompletionAccepted: a webhook answered 2xx and the answer arrived.
	CompletionAccepted Completion = "accepted"
	// CompletionLost: no webhook accepted it and nothing more will be sent. Only a request to the
	// API still shows the end. If Reached is not 0 the receiver got it all the same.
	CompletionLost Completion = "lost"
)
