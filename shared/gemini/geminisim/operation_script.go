package geminisim

import (
	"fmt"
	"strings"
	"time"
)

// Script sets what would otherwise be drawn for an operation. A zero field is drawn.
type Script struct {
	// Hold is the state of the new operation until SetState or a cancellation.
	Hold State
	// Final is the state in which the operation ends.
	Final State
	// RunTime is the time from creation to the end, before Config.Speed.
	RunTime time.Duration
	// HiddenFor is how long, before Config.Speed, a get does not find the operation after its
	// creation was answered.
	HiddenFor time.Duration
	// Items is how many results a batch with file input has; that of an uploaded file has its
	// requests.
	Items int
	// Faults replaces Config.Faults for a batch's creation but CreatesLost, for the operation's end, for
	// the lines of its results and for its deliveries. Windows, API faults and the order and the end of
	// a download stay those of Config.
	Faults *Faults
}

func (sc Script) change(p plan) plan {
	if sc.Final != "" {
		p.final = sc.Final
	}
	if sc.RunTime > 0 {
		p.queue, p.run = sc.RunTime/4, sc.RunTime-sc.RunTime/4
	}
	if sc.Items > 0 {
		p.items = sc.Items
	}
	if sc.HiddenFor > 0 {
		p.hidden = sc.HiddenFor
	}
	return p
}

// Script applies to every operation created with this label from now on: a batch's display name, a
// video's prompt, an interaction's plain text input. A second call for the label replaces the
// first.
func (s *Sim) Script(label string, sc Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[label] = sc
}

// ScriptPrefix is Script for every label that begins with prefix, such as opledger:jobs/nightly/ for the
// batches of a job. A label's own Script takes precedence, and then the longest prefix.
func (s *Sim) ScriptPrefix(prefix string, sc Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefixes[prefix] = sc
}

// scriptOf returns the script of a label, and the faults that go with it. The caller must hold s.mu.
func (s *Sim) scriptOf(label string) (Script, Faults) {
	sc, ok := s.scripts[label]
	if !ok {
		best := -1
		for prefix, of := range s.prefixes {
			if strings.HasPrefix(label, prefix) && len(prefix) > best {
				best, sc = len(prefix), of
			}
		}
	}
	if sc.Faults != nil {
		return sc, *sc.Faults
	}
	return sc, s.cfg.Faults
}

// SetState changes an operation's state at once and ends its plan. The state may be unknown to the
// API, and the operation may have ended. Name is its resource name, its id (operations/ID, too, for
// a video), or its label, for the newest operation that has it. SetState sends the planned
// deliveries for the state: a test ends a held batch with StateSucceeded.
func (s *Sim) SetState(name string, state State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.lookup(name)
	if err != nil {
		return err
	}
	s.replan(b)
	s.moveLocked(b, state)
	return nil
}

// SetWebhookState changes a webhook's state. Gemini itself sets
// WebhookDisabledDueToFailedDeliveries, after an undocumented number of failures. A webhook that is
// not enabled gets nothing, and its deliveries end.
func (s *Sim) SetWebhookState(id, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hook(id)
	if h == nil {
		return fmt.Errorf("geminisim: no webhook has the id %q", id)
	}
	h.state = state
	return nil
}
