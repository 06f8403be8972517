package geminisim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Delivery is one attempt to deliver, made by a test. It needs a Body or a Type.
type Delivery struct {
	// Webhook is the id of the registered webhook to send to; empty means the oldest one. URL sends
	// somewhere else; with URL and Secrets, or URL and Dynamic or JWT, no webhook has to be
	// registered.
	Webhook string
	URL     string
	// Body is sent unchanged. Nil means the envelope of an event of this Type about the operation
	// Name, at EventTime.
	Body []byte
	// Type is any event type.
	Type string
	// Name is an operation as in SetState. The name of an unknown operation becomes data.id
	// unchanged.
	Name string
	// EventTime is the envelope's timestamp; zero means when the operation reached its present
	// state.
	EventTime time.Time
	// ID is the webhook-id; empty means a new one.
	ID string
	// Timestamp is the webhook-timestamp; zero means now.
	Timestamp time.Time
	// Secrets sign, one signature each; nil means the valid secrets of the webhook, newest first.
	Secrets []string
	// Dynamic signs with a token instead, as for an operation's own uris. JWT is that token, which
	// may be for another body; empty means a token of Claims.
	Dynamic bool
	JWT     string
	// Header replaces the other headers. A header with nil values is left out.
	Header http.Header
}

// Deliver makes one attempt and returns the receiver's status and body. It ignores the fault plan
// and the webhook's state, does not retry, and counts in Stats.Deliveries and Accepted.
func (s *Sim) Deliver(ctx context.Context, d Delivery) (status int, body []byte, err error) {
	if d.Body == nil && d.Type == "" {
		return 0, nil, errors.New("geminisim: Deliver: neither Body nor Type is set")
	}
	uri, claims, err := s.complete(&d)
	if err != nil {
		return 0, nil, err
	}
	signature, err := s.signed(&d, uri, claims)
	if err != nil {
		return 0, nil, err
	}
	header := headers(d.ID, d.Timestamp, signature)
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

// dynamic reports whether a token signs the delivery.
func (d *Delivery) dynamic() bool { return d.Dynamic || d.JWT != "" }

// signed is the webhook-signature of a complete delivery.
func (s *Sim) signed(d *Delivery, uri string, claims map[string]any) (string, error) {
	switch {
	case d.JWT != "":
		return d.JWT, nil
	case d.Dynamic:
		return s.token(uri, d.Body, d.Timestamp, claims), nil
	}
	return signAll(d.Secrets, d.ID, unix(d.Timestamp), d.Body)
}

// complete fills in the fields that the test left out, and returns the target and the claims that
// the operation adds to a token.
func (s *Sim) complete(d *Delivery) (uri string, claims map[string]any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	if d.ID == "" {
		d.ID = "msg_" + id(s.rand("sent", strconv.FormatUint(s.sent, 10)), 27)
	}
	if d.Timestamp.IsZero() {
		d.Timestamp = s.cfg.Now()
	}
	if uri, err = s.destination(d); err != nil || d.Body != nil {
		return uri, nil, err
	}
	at := d.EventTime
	o, err := s.lookup(d.Name)
	if err != nil {
		if at.IsZero() {
			at = s.cfg.Now()
		}
		d.Body = mustJSON(envelope{Type: d.Type, Version: "v1", Timestamp: at.UTC(), Data: map[string]any{"id": d.Name}})
		return uri, nil, nil
	}
	if at.IsZero() {
		at = o.now.updateTime
	}
	d.Body = s.eventBody(o, d.Type, at, false)
	return uri, s.metadataClaims(o), nil
}

// destination returns the target, and sets the webhook's secrets if the test gives none.
func (s *Sim) destination(d *Delivery) (uri string, err error) {
	if d.URL != "" && (d.Secrets != nil || d.dynamic()) {
		return d.URL, nil
	}
	h := s.hook(d.Webhook)
	if d.Webhook == "" && len(s.hooks) > 0 {
		h = s.hooks[0]
	}
	if h == nil {
		return "", fmt.Errorf("geminisim: Deliver: no webhook %q is registered", d.Webhook)
	}
	if d.Secrets == nil {
		d.Secrets = h.valid(s.cfg.Now())
	}
	if d.URL != "" {
		return d.URL, nil
	}
	return h.uri, nil
}
