package geminisim

import (
	"net/http"
	"time"
)

func (s *Sim) interactionRoutes(mux *http.ServeMux) {
	about := pathSubject("interactions/")
	mux.HandleFunc(
		"POST /v1beta/interactions", s.serve(OpInteractionCreate, labelled(interactionLabel), s.createInteraction),
	)
	mux.HandleFunc("GET /v1beta/interactions/{id}", s.serve(OpInteractionGet, about, s.getInteraction))
	mux.HandleFunc("DELETE /v1beta/interactions/{id}", s.serve(OpInteractionDelete, about, s.deleteInteraction))
	mux.HandleFunc("POST /v1beta/interactions/{id}/cancel", s.serve(OpInteractionCancel, about, s.cancelInteraction))
}

// createInteraction accepts background interactions only. The others answer at once and have no
// state.
func (s *Sim) createInteraction(w http.ResponseWriter, r *http.Request) {
	var req interactionRequest
	problem := ""
	if err := decode(r, &req, false); err != nil {
		problem = badJSON + err.Error()
	} else {
		problem = req.check()
	}
	if problem != "" {
		writeInteractionError(w, http.StatusBadRequest, problem)
		return
	}
	hooks := req.WebhookConfig.config()
	o := &operation{
		kind:         interactionKind,
		label:        inputText(req.Input),
		model:        req.Model,
		agent:        req.Agent,
		userMetadata: hooks.UserMetadata,
		uris:         hooks.URIs,
	}
	s.mu.Lock()
	s.launch(o)
	shown := o.interaction(o.now)
	s.mu.Unlock()
	shown.WebhookConfig = req.WebhookConfig // seen live here; not confirmed for a get
	writeJSON(w, shown)
}

func (s *Sim) getInteraction(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, interactionKind, writeNoInteraction, func(o *operation) any { return o.interaction(o.seen(r)) })
}

func (s *Sim) cancelInteraction(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, interactionKind, writeNoInteraction, func(o *operation) any {
		s.cancel(o)
		return o.interaction(o.now)
	})
}

func (s *Sim) deleteInteraction(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, interactionKind, writeNoInteraction, func(o *operation) any {
		o.deleted = true
		return struct{}{}
	})
}

// interaction returns the interaction of a snapshot.
func (o *operation) interaction(at snapshot) interactionJSON {
	shown := interactionJSON{
		ID:      o.id,
		Model:   o.model,
		Agent:   o.agent,
		Status:  at.state,
		Created: o.createTime.UTC().Format(time.RFC3339), // no fractions
		Updated: at.updateTime.UTC().Format(time.RFC3339),
	}
	if at.state == InteractionCompleted {
		text := interactionText{"text", "Result of " + o.name() + "."}
		shown.Steps = []interactionStep{{"model_output", []interactionText{text}}}
	}
	if e, ok := failures[at.state]; ok {
		shown.Errors = []interactionError{{"internal", e.Message}}
	}
	return shown
}
