package geminisim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Events are the event types that a webhook can subscribe to: the list of SDK
// v1.77.0 and of the REST reference. Older pages name batch.cancelled and
// interaction.cancelled too; the live API was reported to refuse them.
func Events() []string {
	return []string{
		"batch.succeeded", "batch.expired", "batch.failed",
		"interaction.requires_action", "interaction.completed", "interaction.failed",
		"video.generated",
	}
}

// States of a webhook (documented).
const (
	WebhookEnabled                       = "enabled"
	WebhookDisabled                      = "disabled"
	WebhookDisabledDueToFailedDeliveries = "disabled_due_to_failed_deliveries"
)

// Values of revocation_behavior. The first is the default.
const (
	revokeAfter24h    = "revoke_previous_secrets_after_h24"
	revokeImmediately = "revoke_previous_secrets_immediately"
)

// webhook is one registered endpoint, guarded by Sim.mu.
type webhook struct {
	id      string
	nth     int // how many were created before
	name    string
	uri     string
	events  []string
	state   string
	secrets []secret // newest first
	rotated int
	deleted bool
}

type secret struct {
	text   string
	expire time.Time // zero: not yet
}

// valid returns the texts of the secrets that have not expired, newest first.
func (h *webhook) valid(now time.Time) []string {
	var texts []string
	for _, sec := range h.secrets {
		if sec.expire.IsZero() || now.Before(sec.expire) {
			texts = append(texts, sec.text)
		}
	}
	return texts
}

// The JSON of webhooks is snake_case, in requests too: camelCase keys are
// refused, as reported of the live API. create_time and update_time are in the
// SDK's type but were never seen live, so that they are not sent.
type webhookJSON struct {
	ID               string       `json:"id"`
	Name             string       `json:"name,omitempty"`
	URI              string       `json:"uri"`
	SubscribedEvents []string     `json:"subscribed_events"`
	State            string       `json:"state"`
	SigningSecrets   []secretJSON `json:"signing_secrets,omitempty"`
	NewSigningSecret string       `json:"new_signing_secret,omitempty"`
}

type secretJSON struct {
	TruncatedSecret string    `json:"truncated_secret"`
	ExpireTime      time.Time `json:"expire_time,omitzero"`
}

// webhookBody is what create and update take; nil is absent.
type webhookBody struct {
	Name             *string   `json:"name"`
	URI              *string   `json:"uri"`
	SubscribedEvents *[]string `json:"subscribed_events"`
	State            *string   `json:"state"`
}

func (s *Sim) webhookRoutes(mux *http.ServeMux) {
	serve := func(h http.HandlerFunc) http.HandlerFunc { return s.serve(OpWebhook, noSubject, h) }
	mux.HandleFunc("POST /v1beta/webhooks", serve(s.createWebhook))
	mux.HandleFunc("GET /v1beta/webhooks", serve(s.listWebhooks))
	mux.HandleFunc("GET /v1beta/webhooks/{id}", serve(s.onWebhook(func(h *webhook) any { return s.show(h) })))
	mux.HandleFunc("PATCH /v1beta/webhooks/{id}", serve(s.updateWebhook))
	mux.HandleFunc("DELETE /v1beta/webhooks/{id}", serve(s.onWebhook(s.drop)))
	mux.Handle("POST /v1beta/webhooks/{id}", verbs{
		"ping":                serve(s.onWebhook(s.ping)),
		"rotateSigningSecret": serve(s.rotateSecret),
	})
}

// check refuses what the API would refuse, "" if nothing.
func (b *webhookBody) check() string {
	if b.URI != nil {
		u, err := url.Parse(*b.URI)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			// http is the simulator's own leave, for receivers on loopback.
			return "uri must be an absolute https or http URL."
		}
	}
	if b.SubscribedEvents != nil {
		if len(*b.SubscribedEvents) == 0 {
			return "subscribed_events must name at least one event."
		}
		known := Events()
		for _, e := range *b.SubscribedEvents {
			if !slices.Contains(known, e) {
				return fmt.Sprintf("Invalid value %q in subscribed_events. Supported values: %s.", e, strings.Join(known, ", "))
			}
		}
	}
	if b.State != nil && *b.State != WebhookEnabled && *b.State != WebhookDisabled {
		return fmt.Sprintf("Invalid value %q for state. Supported values: enabled, disabled.", *b.State)
	}
	return ""
}

// apply changes what the body names.
func (b *webhookBody) apply(h *webhook) {
	if b.Name != nil {
		h.name = *b.Name
	}
	if b.URI != nil {
		h.uri = *b.URI
	}
	if b.SubscribedEvents != nil {
		h.events = *b.SubscribedEvents
	}
	if b.State != nil {
		h.state = *b.State
	}
}

func (s *Sim) createWebhook(w http.ResponseWriter, r *http.Request) {
	var body webhookBody
	if !readJSON(w, r, &body, true) {
		return
	}
	problem := body.check()
	if problem == "" && (body.URI == nil || body.SubscribedEvents == nil) {
		problem = "uri and subscribed_events are required."
	}
	if problem != "" {
		writeError(w, http.StatusBadRequest, problem)
		return
	}
	s.mu.Lock()
	nth := strconv.Itoa(s.hooksNew)
	h := &webhook{id: id(s.rand("webhook", nth), 36), nth: s.hooksNew, state: WebhookEnabled}
	h.secrets = []secret{{text: newSecret(s.rand("secret", nth, "0"))}}
	body.apply(h)
	s.hooksNew++
	s.hooks = append(s.hooks, h)
	made := s.show(h)
	made.NewSigningSecret = h.secrets[0].text // here and never again
	s.mu.Unlock()
	writeJSON(w, made)
}

// onWebhook serves a request about one webhook: act runs under s.mu and returns
// what to answer.
func (s *Sim) onWebhook(act func(*webhook) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.hook(r.PathValue("id"))
		var resp any
		if h != nil {
			resp = act(h)
		}
		s.mu.Unlock()
		if h == nil {
			writeNotFound(w)
			return
		}
		writeJSON(w, resp)
	}
}

// hook finds a webhook by its id, nil if there is none.
func (s *Sim) hook(id string) *webhook {
	for _, h := range s.hooks {
		if h.id == id {
			return h
		}
	}
	return nil
}

func (s *Sim) show(h *webhook) webhookJSON {
	now := s.cfg.Now()
	shown := webhookJSON{ID: h.id, Name: h.name, URI: h.uri, SubscribedEvents: h.events, State: h.state}
	for _, sec := range h.secrets {
		if sec.expire.IsZero() || now.Before(sec.expire) {
			shown.SigningSecrets = append(shown.SigningSecrets, secretJSON{truncated(sec.text), sec.expire.UTC()})
		}
	}
	return shown
}

// updateWebhook changes what the body names; update_mask is ignored, as
// reported of the live API.
func (s *Sim) updateWebhook(w http.ResponseWriter, r *http.Request) {
	var body webhookBody
	if !readJSON(w, r, &body, true) {
		return
	}
	if problem := body.check(); problem != "" {
		writeError(w, http.StatusBadRequest, problem)
		return
	}
	s.onWebhook(func(h *webhook) any {
		body.apply(h)
		return s.show(h)
	})(w, r)
}

// rotateSecret makes a new secret. The ones before it stay valid for 24 hours,
// unless the request revokes them at once; one that was to expire sooner still
// does.
func (s *Sim) rotateSecret(w http.ResponseWriter, r *http.Request) {
	var body struct {
		RevocationBehavior string `json:"revocation_behavior"`
	}
	if !readJSON(w, r, &body, true) {
		return
	}
	switch body.RevocationBehavior {
	case "", revokeAfter24h, revokeImmediately:
	default:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("Invalid value %q for revocation_behavior. Supported values: %s, %s.",
			body.RevocationBehavior, revokeAfter24h, revokeImmediately))
		return
	}
	s.onWebhook(func(h *webhook) any {
		h.rotated++
		fresh := secret{text: newSecret(s.rand("secret", strconv.Itoa(h.nth), strconv.Itoa(h.rotated)))}
		if body.RevocationBehavior == revokeImmediately {
			h.secrets = nil
		}
		expire := s.cfg.Now().Add(24 * time.Hour)
		for i := range h.secrets {
			if h.secrets[i].expire.IsZero() {
				h.secrets[i].expire = expire
			}
		}
		h.secrets = append([]secret{fresh}, h.secrets...)
		return map[string]string{"secret": fresh.text}
	})(w, r)
}

// ping answers `{}` whether or not the receiver can be reached, as reported of
// the live API; one attempt to deliver is under way by then.
func (s *Sim) ping(h *webhook) any {
	s.countLocked(func(st *Stats) { st.Pings++ })
	s.post(&message{
		id:   "msg_" + id(s.rand("ping", h.id, strconv.Itoa(s.stats.Pings)), 27),
		hook: h,
		body: pingBody(s.cfg.Now()),
		once: true, // whether pings are retried is not documented
	})
	return struct{}{}
}

// drop deletes the webhook; deliveries on their way to it are given up.
func (s *Sim) drop(h *webhook) any {
	h.deleted = true
	s.hooks = slices.DeleteFunc(s.hooks, func(other *webhook) bool { return other == h })
	return struct{}{}
}

func (s *Sim) listWebhooks(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, from, ok := page(w, q.Get("page_size"), q.Get("page_token"))
	if !ok {
		return
	}
	var resp struct {
		Webhooks      []webhookJSON `json:"webhooks,omitempty"`
		NextPageToken string        `json:"next_page_token,omitempty"`
	}
	s.mu.Lock()
	for _, h := range s.hooks {
		if h.nth < from {
			continue
		}
		if len(resp.Webhooks) == size {
			resp.NextPageToken = pageToken(h.nth)
			break
		}
		resp.Webhooks = append(resp.Webhooks, s.show(h))
	}
	s.mu.Unlock()
	writeJSON(w, resp)
}
