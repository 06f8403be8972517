package geminisim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// envelope is the documented body of a delivery.
type envelope struct {
	Type      string         `json:"type"`
	Version   string         `json:"version"`
	Timestamp time.Time      `json:"timestamp"`
	Data      map[string]any `json:"data,omitempty"`
}

// eventRunning is a progress event. It is none of the seven documented types;
// see Faults.Reordered.
const eventRunning = "batch.running"

// completionEvents are the events that tell of an end. There is none for
// CANCELLED: only asking the API shows a cancelled batch.
var completionEvents = map[State]string{
	StateSucceeded: "batch.succeeded",
	StateFailed:    "batch.failed",
	StateExpired:   "batch.expired",
}

// eventBody is the body of an event about a batch, with the data keys that the
// documentation names for its type. The form of data.id and the place of
// user_metadata are open questions: no delivery of the live API is on public
// record.
func (b *batch) eventBody(event string, at time.Time, bareID bool) []byte {
	data := map[string]any{"id": b.name()}
	if bareID {
		data["id"] = b.id
	}
	if len(b.userMetadata) > 0 {
		data["user_metadata"] = b.userMetadata
	}
	switch event {
	case "batch.succeeded":
		if b.inputFile != "" { // documented for file input only
			data["output_file_uri"] = "files/" + resultPrefix + b.id
		}
	case "batch.failed":
		// Documented by name; that both are text is a guess.
		data["error_code"] = "INTERNAL"
		data["error_message"] = failures[StateFailed].Message
	}
	return mustJSON(envelope{event, "v1", at.UTC(), data})
}

// pingBody is a guess: what a ping delivers is documented nowhere. It has no
// data, so that a receiver that insists on data shows.
func pingBody(at time.Time) []byte {
	return mustJSON(envelope{Type: "ping", Version: "v1", Timestamp: at.UTC()})
}

// announce sends the deliveries that the batch's plan has for the end that it
// has just reached. Callers hold s.mu.
func (s *Sim) announce(b *batch) {
	if b.ownURIs {
		return
	}
	event := completionEvents[b.now.state]
	for _, h := range s.hooks {
		if h.state != WebhookEnabled {
			continue
		}
		var progress *message
		if b.plan.reordered && !b.runningAt.IsZero() && slices.ContainsFunc(h.events, isBatchEvent) {
			s.countLocked(func(st *Stats) { st.Reordered++ })
			progress = s.message(b, h, eventRunning, b.runningAt)
			progress.after = b.plan.reorderedBy
		}
		if slices.Contains(h.events, event) {
			b.told = true
			if !b.plan.lost {
				// Behind the completion, so that no race puts them in order.
				s.announceEnd(b, h, event, progress)
				continue
			}
			s.countLocked(func(st *Stats) { st.Lost++ })
		}
		if progress != nil {
			s.post(progress)
		}
	}
}

func isBatchEvent(event string) bool { return strings.HasPrefix(event, "batch.") }

// announceEnd sends a completion and its repeats, and then the progress event
// that it overtook, if any.
func (s *Sim) announceEnd(b *batch, h *webhook, event string, progress *message) {
	m := s.message(b, h, event, b.now.updateTime)
	m.after, m.completes, m.then = b.plan.late, b, progress
	if m.after > 0 {
		s.countLocked(func(st *Stats) { st.Late++ })
	}
	s.post(m)
	for i, at := range b.plan.repeats {
		s.countLocked(func(st *Stats) { st.Repeated++ })
		repeat := *m
		repeat.after += at
		repeat.copy, repeat.then = i+1, nil
		s.post(&repeat)
	}
}

// message is the delivery of an event about a batch, not yet on its way. Its
// id follows from what it says and to whom, so that the same seed gives the
// same ids.
func (s *Sim) message(b *batch, h *webhook, event string, at time.Time) *message {
	r := s.rand("message", b.id, h.id, event, strconv.Itoa(b.moves))
	return &message{
		id:   "msg_" + id(r, 27),
		hook: h,
		body: b.eventBody(event, at, r.Float64() < b.plan.bareIDs),
	}
}
