package geminisim

import (
	"fmt"
	"time"
)

// Script pins what would otherwise be drawn for a job. Zero fields leave it to the plan.
type Script struct {
	// Hold puts the job in this state when it is created, and there it stays until SetState or a
	// cancellation.
	Hold State
	// Final is the state in which the job ends.
	Final State
	// RunTime is the time from creation to the end, before Config.Speed.
	RunTime time.Duration
	// HiddenFor is how long, before Config.Speed, a get does not find the job after its creation
	// was answered.
	HiddenFor time.Duration
	// Items is how many results a batch with file input has.
	Items int
	// Faults replaces Config.Faults for the job's end and for its deliveries; windows and API
	// faults stay those of Config.
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

// Script pins every job that is created with this label from now on: a batch's display name, a
// video's prompt, an interaction's input where it is plain text. A second call for the label
// replaces the first.
func (s *Sim) Script(label string, sc Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[label] = sc
}

// SetState puts a job in any state at once and keeps it there: also one that the API does not know,
// and also a job that has ended. Name is its resource name, its id (operations/ID too, for a
// video), or its label, which means the newest that has it. Arriving in a state that an event tells
// of sends what the job's plan has for it: SetState with StateSucceeded is how a test finishes a
// batch that it holds.
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

// SetWebhookState puts a webhook in any state: WebhookDisabledDueToFailedDeliveries is one that
// Gemini sets by itself, after how many failures is not documented. A webhook that is not enabled
// is sent nothing, and deliveries on their way to it are given up.
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
