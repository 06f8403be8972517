package geminisim

import (
	"encoding/json"
	"net/http"
)

// The JSON of videos: measured against SDK v1.77.0 and seen live. It has no times and no metadata.

type videoRequest struct {
	Instances []struct {
		Prompt string `json:"prompt"`
	} `json:"instances"`
	WebhookConfig webhookConfig `json:"webhookConfig"`
}

// videoLabel is the prompt in the body of a creation; what cannot be read, the handler refuses.
func videoLabel(body []byte) string {
	var create videoRequest
	if json.Unmarshal(body, &create) != nil || len(create.Instances) == 0 {
		return ""
	}
	return create.Instances[0].Prompt
}

type videoOperation struct {
	Name     string          `json:"name"`
	Done     bool            `json:"done,omitempty"`
	Error    *operationError `json:"error,omitempty"`
	Response *videoResponse  `json:"response,omitempty"`
}

type videoResponse struct {
	Type   string      `json:"@type"`
	Videos videoOutput `json:"generateVideoResponse"`
}

type videoOutput struct {
	Samples         []videoSample `json:"generatedSamples,omitempty"`
	FilteredCount   int           `json:"raiMediaFilteredCount,omitempty"`
	FilteredReasons []string      `json:"raiMediaFilteredReasons,omitempty"`
}

type videoSample struct {
	Video struct {
		URI string `json:"uri"`
	} `json:"video"`
}

func (s *Sim) videoRoutes(mux *http.ServeMux, models verbs) {
	models["predictLongRunning"] = s.serve(OpVideoCreate, labelled(videoLabel), s.createVideo)
	about := func(r *http.Request) subject {
		return pathSubject("models/" + r.PathValue("model") + "/operations/")(r)
	}
	mux.HandleFunc("GET /v1beta/models/{model}/operations/{id}", s.serve(OpVideoGet, about, s.getVideo))
}

func (s *Sim) createVideo(w http.ResponseWriter, r *http.Request) {
	var req videoRequest
	if !readJSON(w, r, &req, false) {
		return
	}
	if len(req.Instances) == 0 {
		writeError(w, http.StatusBadRequest, "instances is required.")
		return
	}
	v := &operation{
		kind:         videoKind,
		label:        req.Instances[0].Prompt,
		model:        "models/" + r.PathValue("id"),
		userMetadata: req.WebhookConfig.UserMetadata,
		uris:         req.WebhookConfig.URIs,
	}
	s.mu.Lock()
	s.launch(v)
	s.mu.Unlock()
	writeJSON(w, videoOperation{Name: v.name()}) // a get has the rest
}

func (s *Sim) getVideo(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, videoKind, writeNotFound, func(v *operation) any { return v.video(v.seen(r)) })
}

// video returns the operation of a snapshot.
func (o *operation) video(at snapshot) videoOperation {
	op := videoOperation{Name: o.name(), Done: at.state.Terminal()}
	if !op.Done {
		return op
	}
	if e, ok := failures[at.state]; ok {
		op.Error = &e
		return op
	}
	op.Response = &videoResponse{
		Type: "type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse",
	}
	out := &op.Response.Videos
	switch at.state {
	case VideoSucceeded:
		out.Samples = make([]videoSample, 1)
		out.Samples[0].Video.URI = o.videoURI()
	case VideoFiltered:
		out.FilteredCount = 1
		out.FilteredReasons = []string{"The video was filtered because of the safety settings."}
	}
	return op
}

// videoURI is on Google's host, as seen live; the simulator serves the same path. A video's file
// has the id of its operation.
func (o *operation) videoURI() string {
	return "https://generativelanguage.googleapis.com/v1beta/files/" + o.id + ":download?alt=media"
}
