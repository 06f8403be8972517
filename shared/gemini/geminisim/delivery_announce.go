package geminisim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is the target of deliveries: a registered webhook, or a uri of the operation's own.
type target struct {
	hook *webhook // nil: dynamic
	uri  string
}

// targets returns the targets for an operation: its own uris replace the registered webhooks
// (documented).
func (s *Sim) targets(o *operation) []target {
	var all []target
	for _, uri := range o.uris {
		all = append(all, target{uri: uri})
	}
	if len(o.uris) > 0 {
		return all
	}
	for _, h := range s.hooks {
		if h.state == WebhookEnabled {
			all = append(all, target{hook: h})
		}
	}
	return all
}

// wants reports whether an event is sent there. A uri of the operation's own gets every event.
func (t target) wants(event string) bool {
	return event != "" && (t.hook == nil || slices.Contains(t.hook.events, event))
}

// wantsAny reports whether any event about such an operation is sent there.
func (t target) wantsAny(k *kind) bool {
	return t.hook == nil ||
		slices.ContainsFunc(t.hook.events, func(e string) bool { return strings.HasPrefix(e, k.name+".") })
}

// announce sends the planned deliveries for the state that the operation has just reached. The
// caller must hold s.mu.
func (s *Sim) announce(o *operation) {
	event, end := s.event(o.kind, o.now.state), o.now.state.Terminal()
	for _, t := range s.targets(o) {
		var progress *message
		if end && o.plan.reordered && o.kind.progress != "" && !o.runningAt.IsZero() && t.wantsAny(o.kind) {
			s.countLocked(func(st *Stats) { st.Reordered++ })
			progress = s.message(o, t, o.kind.progress, o.runningAt)
			progress.after = o.plan.reorderedBy
		}
		if t.wants(event) {
			o.told = o.told || end
			if !o.plan.lost {
				// Only after the completion, so that no race reorders them.
				s.announceState(o, t, event, progress)
				continue
			}
			s.countLocked(func(st *Stats) { st.Lost++ })
		}
		if progress != nil {
			s.post(progress)
		}
	}
}

// announceState sends the event of a state and its repeats, and then the progress event that it
// overtook, if any.
func (s *Sim) announceState(o *operation, t target, event string, progress *message) {
	m := s.message(o, t, event, o.now.updateTime)
	m.after, m.then = o.plan.late, progress
	if o.now.state.Terminal() {
		m.completes = o
	}
	if m.after > 0 {
		s.countLocked(func(st *Stats) { st.Late++ })
	}
	s.post(m)
	for i, at := range o.plan.repeats {
		s.countLocked(func(st *Stats) { st.Repeated++ })
		repeat := *m
		repeat.after += at
		repeat.copy, repeat.then = i+1, nil
		s.post(&repeat)
	}
}

// message returns the delivery of an event about an operation. Its id depends on event and target,
// so that the same seed gives the same ids.
func (s *Sim) message(o *operation, t target, event string, at time.Time) *message {
	to := t.uri
	if t.hook != nil {
		to = t.hook.id
	}
	r := s.rand("message", o.id, to, event, strconv.Itoa(o.moves))
	return &message{
		id:     "msg_" + id(r, 27),
		to:     t,
		body:   s.eventBody(o, event, at, r.Float64() < o.plan.bareIDs),
		claims: s.metadataClaims(o),
	}
}
