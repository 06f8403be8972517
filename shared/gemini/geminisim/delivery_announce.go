package geminisim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is the target of deliveries: a registered webhook, or a uri of the job's own.
type target struct {
	hook *webhook // nil: dynamic
	uri  string
}

// targets returns the targets for a job: its own uris replace the registered webhooks (documented).
func (s *Sim) targets(j *job) []target {
	var all []target
	for _, uri := range j.uris {
		all = append(all, target{uri: uri})
	}
	if len(j.uris) > 0 {
		return all
	}
	for _, h := range s.hooks {
		if h.state == WebhookEnabled {
			all = append(all, target{hook: h})
		}
	}
	return all
}

// wants reports whether an event is sent there. A uri of the job's own gets every event.
func (t target) wants(event string) bool {
	return event != "" && (t.hook == nil || slices.Contains(t.hook.events, event))
}

// wantsAny reports whether any event about such a job is sent there.
func (t target) wantsAny(k *kind) bool {
	return t.hook == nil ||
		slices.ContainsFunc(t.hook.events, func(e string) bool { return strings.HasPrefix(e, k.name+".") })
}

// announce sends the planned deliveries for the state that the job has just reached. The caller
// must hold s.mu.
func (s *Sim) announce(j *job) {
	event, end := s.event(j.kind, j.now.state), j.now.state.Terminal()
	for _, t := range s.targets(j) {
		var progress *message
		if end && j.plan.reordered && j.kind.progress != "" && !j.runningAt.IsZero() && t.wantsAny(j.kind) {
			s.countLocked(func(st *Stats) { st.Reordered++ })
			progress = s.message(j, t, j.kind.progress, j.runningAt)
			progress.after = j.plan.reorderedBy
		}
		if t.wants(event) {
			j.told = j.told || end
			if !j.plan.lost {
				// Only after the completion, so that no race reorders them.
				s.announceState(j, t, event, progress)
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
func (s *Sim) announceState(j *job, t target, event string, progress *message) {
	m := s.message(j, t, event, j.now.updateTime)
	m.after, m.then = j.plan.late, progress
	if j.now.state.Terminal() {
		m.completes = j
	}
	if m.after > 0 {
		s.countLocked(func(st *Stats) { st.Late++ })
	}
	s.post(m)
	for i, at := range j.plan.repeats {
		s.countLocked(func(st *Stats) { st.Repeated++ })
		repeat := *m
		repeat.after += at
		repeat.copy, repeat.then = i+1, nil
		s.post(&repeat)
	}
}

// message returns the delivery of an event about a job. Its id depends on event and target, so that
// the same seed gives the same ids.
func (s *Sim) message(j *job, t target, event string, at time.Time) *message {
	to := t.uri
	if t.hook != nil {
		to = t.hook.id
	}
	r := s.rand("message", j.id, to, event, strconv.Itoa(j.moves))
	return &message{
		id:     "msg_" + id(r, 27),
		to:     t,
		body:   s.eventBody(j, event, at, r.Float64() < j.plan.bareIDs),
		claims: s.metadataClaims(j),
	}
}
