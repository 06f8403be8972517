package geminisim

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Stats counts what has happened since New. All but Open only ever grow.
type Stats struct {
	// Created and Settled count batches: created, and arrived in a terminal
	// state.
	Created int `json:"created"`
	Settled int `json:"settled"`
	// Deliveries counts attempts to deliver, retries, repeats and pings among
	// them, whether or not anything was sent.
	Deliveries int `json:"deliveries"`
	// Accepted counts attempts answered 2xx, the answer having arrived.
	Accepted int `json:"accepted"`
	// Retries counts attempts after the first of the same delivery.
	Retries int `json:"retries"`
	// Open is how many deliveries are under way or waiting: planned, late, or
	// between two attempts.
	Open int `json:"open"`
	// Lost counts completions that were never sent and never will be, by plan;
	// GaveUp counts deliveries of any kind whose retries ran out, or whose
	// webhook was deleted or disabled meanwhile.
	Lost   int `json:"lost"`
	GaveUp int `json:"gaveUp"`
	// Repeated, Late and Reordered count deliveries that the plan made so: sent
	// again although the first one stands, held back, and progress events
	// sent after the end.
	Repeated  int `json:"repeated"`
	Late      int `json:"late"`
	Reordered int `json:"reordered"`
	// WindowRefused counts attempts that a deploy window kept from the
	// receiver, AnswersLost those that reached it but whose answer was lost.
	WindowRefused int `json:"windowRefused"`
	AnswersLost   int `json:"answersLost"`
	// Pings counts the pings that were asked for.
	Pings int `json:"pings"`
	// APIRequests counts all requests to the API; the others those among them
	// that a fault changed. Scripted answers are in APIScripted alone.
	APIRequests    int `json:"apiRequests"`
	APIErrors      int `json:"apiErrors"`
	APIRateLimited int `json:"apiRateLimited"`
	APIStale       int `json:"apiStale"`
	APIHollow      int `json:"apiHollow"`
	APICreatesLost int `json:"apiCreatesLost"`
	APIScripted    int `json:"apiScripted"`
}

// Stats returns the counters as they stand.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// WaitFor returns as soon as cond holds for the counters, which it is asked
// after every change, or with ctx's error. This is how a test waits:
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

// Completion says how the news of a batch's end fares.
type Completion string

const (
	// CompletionNone: the batch has not ended, or nobody is told of its end:
	// no event exists for the state (CANCELLED), no webhook subscribes to it,
	// or the batch named uris of its own.
	CompletionNone Completion = "none"
	// CompletionOpen: being delivered, or waiting for its next attempt.
	CompletionOpen Completion = "open"
	// CompletionAccepted: a webhook answered 2xx and the answer arrived.
	CompletionAccepted Completion = "accepted"
	// CompletionLost: no webhook accepted it and nothing more will be sent. Only
	// asking the API can still tell. Where Reached is not 0 the receiver saw
	// it even so.
	CompletionLost Completion = "lost"
)

// BatchInfo is the ground truth about one batch.
type BatchInfo struct {
	Name         string         `json:"name"` // batches/ and the id
	DisplayName  string         `json:"displayName,omitempty"`
	State        State          `json:"state"`
	CreateTime   time.Time      `json:"createTime"`
	UpdateTime   time.Time      `json:"updateTime"`           // when State was reached
	EndTime      time.Time      `json:"endTime,omitzero"`     // zero while it runs
	ResultFile   string         `json:"resultFile,omitempty"` // files/ and the id, of a batch that succeeded with file input
	UserMetadata map[string]any `json:"userMetadata,omitempty"`
	Completion   Completion     `json:"completion"`
	// Reached counts attempts to deliver the completion that reached a
	// receiver, whatever it answered.
	Reached int `json:"reached"`
	// Deleted: gone from the API. Deleting does not stop a job.
	Deleted bool `json:"deleted,omitempty"`
}

// Batches returns the truth about every batch ever created, in the order of
// creation, deleted ones included.
func (s *Sim) Batches() []BatchInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]BatchInfo, len(s.batches))
	for i, b := range s.batches {
		infos[i] = BatchInfo{
			Name:         b.name(),
			DisplayName:  b.displayName,
			State:        b.now.state,
			CreateTime:   b.createTime,
			UpdateTime:   b.now.updateTime,
			EndTime:      b.now.endTime,
			ResultFile:   b.resultFile(b.now),
			UserMetadata: maps.Clone(b.userMetadata),
			Completion:   b.completion(),
			Reached:      b.reached,
			Deleted:      b.deleted,
		}
	}
	return infos
}
