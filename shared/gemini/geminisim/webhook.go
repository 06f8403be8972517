package geminisim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

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

func (s *Sim) createWebhook(w http.ResponseWriter, r *http.Request) {
	var body webhookBody
	if !readJSON(w, r, &body, true) {
		return
	}
	problem := body.check(s.subscribable())
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
	made.NewSigningSecret = h.secrets[0].text // only here
	s.mu.Unlock()
	writeJSON(w, made)
}

// onWebhook serves a request about one webhook: act runs under s.mu and returns what to answer.
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

// updateWebhook changes what the body names; update_mask is ignored, as reported of the live API.
func (s *Sim) updateWebhook(w http.ResponseWriter, r *http.Request) {
	var body webhookBody
	if !readJSON(w, r, &body, true) {
		return
	}
	if problem := body.check(s.subscribable()); problem != "" {
		writeError(w, http.StatusBadRequest, problem)
		return
	}
	s.onWebhook(func(h *webhook) any {
		body.apply(h)
		return s.show(h)
	})(w, r)
}

// rotateSecret makes a new secret. Older ones stay valid for 24 hours at most, unless the request
// revokes them at once.
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
		writeError(
			w,
			http.StatusBadRequest,
			fmt.Sprintf("Invalid value %q for revocation_behavior. Supported values: %s, %s.",
				body.RevocationBehavior, revokeAfter24h, revokeImmediately),
		)
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

// ping always answers `{}`, as the live API was reported to do, and starts one attempt to deliver.
func (s *Sim) ping(h *webhook) any {
	s.countLocked(func(st *Stats) { st.Pings++ })
	s.post(&message{
		id:   "msg_" + id(s.rand("ping", h.id, strconv.Itoa(s.stats.Pings)), 27),
		to:   target{hook: h},
		body: pingBody(s.cfg.Now()),
		once: true, // whether pings are retried is not documented
	})
	return struct{}{}
}

// drop deletes the webhook, and ends its deliveries.
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
