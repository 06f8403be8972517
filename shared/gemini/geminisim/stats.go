package geminisim

import (
	"context"
	"fmt"
)

// Stats counts what has happened since New. All but Open only ever grow.
type Stats struct {
	// Created and Settled count jobs of every kind: created, and arrived in a terminal state.
	Created int `json:"created"`
	Settled int `json:"settled"`
	// Deliveries counts attempts to deliver, retries, repeats and pings among them, whether or not
	// anything was sent.
	Deliveries int `json:"deliveries"`
	// Accepted counts attempts answered 2xx, the answer having arrived.
	Accepted int `json:"accepted"`
	// Retries counts attempts after the first of the same delivery.
	Retries int `json:"retries"`
	// Open is how many deliveries are under way or waiting: planned, late, or between two attempts.
	Open int `json:"open"`
	// Lost counts events that were never sent and never will be, by plan; GaveUp counts deliveries
	// of any kind whose retries ran out, or whose webhook was deleted or disabled meanwhile.
	Lost   int `json:"lost"`
	GaveUp int `json:"gaveUp"`
	// Repeated, Late and Reordered count deliveries that the plan made so: sent again although the
	// first one stands, held back, and progress events sent after the end.
	Repeated  int `json:"repeated"`
	Late      int `json:"late"`
	Reordered int `json:"reordered"`
	// WindowRefused counts attempts that a deploy window kept from the receiver, AnswersLost those
	// that reached it but whose answer was lost.
	WindowRefused int `json:"windowRefused"`
	AnswersLost   int `json:"answersLost"`
	// Pings counts the pings that were asked for.
	Pings int `json:"pings"`
	// APIRequests counts all requests to the API. The five after it count by what was asked,
	// whatever was answered: Creates those of every kind. JWKSRequests are not among them.
	APIRequests     int `json:"apiRequests"`
	Creates         int `json:"creates"`
	BatchGets       int `json:"batchGets"`
	BatchLists      int `json:"batchLists"`
	VideoGets       int `json:"videoGets"`
	InteractionGets int `json:"interactionGets"`
	JWKSRequests    int `json:"jwksRequests"`
	// The rest counts requests that a fault changed: APIHidden the gets of a job that could not be
	// found yet. Scripted answers are in APIScripted alone.
	APIErrors      int `json:"apiErrors"`
	APIRateLimited int `json:"apiRateLimited"`
	APIStale       int `json:"apiStale"`
	APIHollow      int `json:"apiHollow"`
	APICreatesLost int `json:"apiCreatesLost"`
	APIHidden      int `json:"apiHidden"`
	APIScripted    int `json:"apiScripted"`
}

// Stats returns the counters as they stand.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// WaitFor returns as soon as cond holds for the counters, which it is asked after every change, or
// with ctx's error. This is how a test waits:
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

// count changes the counters and wakes who waits for them.
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

// Completion says how the news of a job's end fares.
type Completion string

const (
	// CompletionNone: the job has not ended, or nobody is told of its end: no event exists for the
	// state (a cancelled batch, a failed video, an incomplete interaction), or no webhook
	// subscribes to it.
	CompletionNone Completion = "none"
	// CompletionOpen: being delivered, or waiting for its next attempt.
	CompletionOpen Completion = "open"
	// CompletionAccepted: a webhook answered 2xx and the answer arrived.
	CompletionAccepted Completion = "accepted"
	// CompletionLost: no webhook accepted it and nothing more will be sent. Only asking the API can
	// still tell. Where Reached is not 0 the receiver saw it even so.
	CompletionLost Completion = "lost"
)
