package geminisim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Script pins what would otherwise be drawn for a batch. Zero fields leave it
// to the plan.
type Script struct {
	// Hold puts the batch in this state when it is created, and there it stays
	// until SetState or a cancellation.
	Hold State
	// Final is the state in which the batch ends.
	Final State
	// RunTime is the time from creation to the end, before Config.Speed.
	RunTime time.Duration
	// Faults replaces Config.Faults for the batch's end and for its
	// deliveries; windows and API faults stay those of Config.
	Faults *Faults
}

func (sc Script) change(p plan) plan {
	if sc.Final != "" {
		p.final = sc.Final
	}
	if sc.RunTime > 0 {
		p.queue, p.run = sc.RunTime/4, sc.RunTime-sc.RunTime/4
	}
	return p
}

// Script pins every batch that is created with this display name from now on.
// A second call for the name replaces the first.
func (s *Sim) Script(displayName string, sc Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[displayName] = sc
}

// SetState puts a batch, named by batches/ and its id or by its display name
// (the newest that has it), in any state at once and keeps it there: also one
// that the API does not know, and also a batch that has ended. Arriving in a
// terminal state sends what the batch's plan has for it: SetState with
// StateSucceeded is how a test finishes a batch that it holds.
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

// SetWebhookState puts a webhook in any state: WebhookDisabledDueToFailedDeliveries
// is one that Gemini sets by itself, after how many failures is not
// documented. A webhook that is not enabled is sent nothing, and deliveries on
// their way to it are given up.
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

// Delivery is one attempt to deliver, made by a test. The zero value is not
// enough: it needs a Body, or a Type.
type Delivery struct {
	// Webhook is the id of the registered webhook to send to; empty means the
	// oldest one. URL sends somewhere else; with URL and Secrets no webhook
	// has to be registered.
	Webhook string
	URL     string
	// Body is sent as it is. Where it is nil, the body is the envelope of an
	// event of this Type about the batch Name, at EventTime.
	Body []byte
	// Type is any event type.
	Type string
	// Name is a batch as in SetState; one that does not exist becomes data.id
	// as it is written here.
	Name string
	// EventTime is the envelope's timestamp; zero means when the batch reached
	// its present state.
	EventTime time.Time
	// ID is the webhook-id; empty means a new one.
	ID string
	// Timestamp is the webhook-timestamp; zero means now.
	Timestamp time.Time
	// Secrets sign, one signature each; nil means the valid secrets of the
	// webhook, newest first.
	Secrets []string
	// Header is set last, over everything else; a header whose values are nil
	// is left out.
	Header http.Header
}

// Deliver makes one attempt, whatever the fault plan and the webhook's state,
// and returns the receiver's status and body. It does not retry, and counts in
// Stats.Deliveries and Accepted.
func (s *Sim) Deliver(ctx context.Context, d Delivery) (status int, body []byte, err error) {
	if d.Body == nil && d.Type == "" {
		return 0, nil, errors.New("geminisim: Deliver: neither Body nor Type is set")
	}
	uri, err := s.complete(&d)
	if err != nil {
		return 0, nil, err
	}
	header, err := s.sealed(d.ID, d.Secrets, d.Timestamp, d.Body)
	if err != nil {
		return 0, nil, err
	}
	for name, values := range d.Header {
		header.Del(name)
		for _, v := range values {
			header.Add(name, v)
		}
	}
	s.count(func(st *Stats) { st.Deliveries++ })
	status, body, err = s.send(ctx, uri, header, d.Body)
	if err == nil && status >= 200 && status <= 299 {
		s.count(func(st *Stats) { st.Accepted++ })
	}
	return status, body, err
}

// complete fills in what the test left open, and returns where to send.
func (s *Sim) complete(d *Delivery) (uri string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	if d.ID == "" {
		d.ID = "msg_" + id(s.rand("sent", strconv.FormatUint(s.sent, 10)), 27)
	}
	if d.Timestamp.IsZero() {
		d.Timestamp = s.cfg.Now()
	}
	uri = d.URL
	if uri == "" || d.Secrets == nil {
		h := s.hook(d.Webhook)
		if d.Webhook == "" && len(s.hooks) > 0 {
			h = s.hooks[0]
		}
		if h == nil {
			return "", fmt.Errorf("geminisim: Deliver: no webhook %q is registered", d.Webhook)
		}
		if uri == "" {
			uri = h.uri
		}
		if d.Secrets == nil {
			d.Secrets = h.valid(s.cfg.Now())
		}
	}
	if d.Body != nil {
		return uri, nil
	}
	b, err := s.lookup(d.Name)
	if err != nil {
		at := d.EventTime
		if at.IsZero() {
			at = s.cfg.Now()
		}
		d.Body = mustJSON(envelope{d.Type, "v1", at.UTC(), map[string]any{"id": d.Name}})
		return uri, nil
	}
	at := d.EventTime
	if at.IsZero() {
		at = b.now.updateTime
	}
	d.Body = b.eventBody(d.Type, at, false)
	return uri, nil
}
