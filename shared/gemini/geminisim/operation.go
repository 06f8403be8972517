package geminisim

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// operation is one batch, video or interaction. Sim.mu guards the fields from now on, which change.
type operation struct {
	kind         *kind
	nth          int // how many of its kind were created before
	id           string
	label        string // a batch's display name, a video's prompt, an interaction's input
	model        string // models/ and the id; an interaction's without models/, "" for an agent's
	embeds       bool   // a batch of embeddings
	agent        string
	inputFile    string        // of a batch: files/…, or "" for inline input
	input        *input        // what an uploaded inputFile asks; nil: it is unknown
	tally        func() *tally // counts what becomes of it, once
	requests     []inlineRequest
	userMetadata map[string]any
	uris         []string // dynamic webhooks, instead of the registered ones
	createTime   time.Time
	plan         plan
	rank         uint64        // its place in a shuffled list
	visibleFrom  time.Duration // simulated time; before it a get finds nothing

	now, before snapshot // before: what a stale answer shows
	runningAt   time.Time
	ctx         context.Context // ends when a test or a cancellation ends the plan
	unplan      context.CancelFunc
	moves       int  // states reached
	reads       int  // of its results
	deleted     bool // from the API; the operation continues
	settled     bool // was terminal once; a test may change it again

	told     bool // a webhook wanted the event of the end
	accepted bool
	open     int // deliveries of the completion that are not over
	reached  int
}

// snapshot is the state of an operation at one time.
type snapshot struct {
	state      State
	updateTime time.Time
	endTime    time.Time // zero unless terminal
}

// webhookConfig is the webhook configuration of a new batch or video.
type webhookConfig struct {
	URIs         []string       `json:"uris"`
	UserMetadata map[string]any `json:"userMetadata"`
}

// name is the operation's resource name. The API names an interaction by its id alone.
func (o *operation) name() string {
	switch o.kind {
	case videoKind:
		return o.model + "/operations/" + o.id
	case interactionKind:
		return "interactions/" + o.id
	}
	return "batches/" + o.id
}

// isNamed reports whether name is this operation's resource name, label or id.
func (o *operation) isNamed(name string) bool {
	if name == "" {
		return false
	}
	return name == o.name() || name == o.label || name == o.id || o.kind == videoKind && name == "operations/"+o.id
}

func (o *operation) completion() Completion {
	switch {
	case !o.told:
		return CompletionNone
	case o.accepted:
		return CompletionAccepted
	case o.open > 0:
		return CompletionOpen
	}
	return CompletionLost
}

// lookup returns the newest operation of this name.
func (s *Sim) lookup(name string) (*operation, error) {
	for _, o := range slices.Backward(s.operations) {
		if o.isNamed(name) {
			return o, nil
		}
	}
	return nil, fmt.Errorf("geminisim: no operation is named %q", name)
}
