package operations

import (
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An effectJSON is an effect as JSON: what is stored, and what an operator derives from it.
type effectJSON struct {
	ledger.Effect
	MaxAttempts int `json:"maxAttempts"`
	// NextAttemptAt is when a waiting effect may be tried next.
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"`
	// NotGivenUpBefore is the earliest time at which a failing effect is given up.
	NotGivenUpBefore time.Time `json:"notGivenUpBefore,omitzero"`
	// FailedItems are the first FAILED items, without their responses.
	FailedItems []ledger.Item `json:"failedItems,omitempty"`
	// Commands are the command lines for a dead effect, by the command's name.
	Commands map[string]string `json:"commands,omitempty"`
}

// A storyJSON is an operation as JSON. An empty list is not null.
type storyJSON struct {
	ledger.Story
	jobView
	Record     *operation.Report `json:"record,omitempty"`
	Deliveries []ledger.Delivery `json:"deliveries"`
	Effects    []effectJSON      `json:"effects"`
}

// newStoryJSON is a story as JSON.
func newStoryJSON(s ledger.Story, v phrase.EffectView, of jobView) storyJSON {
	story := storyJSON{
		Story: s, jobView: of, Deliveries: append([]ledger.Delivery{}, s.Deliveries...),
		Effects: make([]effectJSON, len(s.Effects)),
	}
	if s.Record.Version > 0 {
		report := s.Record.Report()
		story.Record = &report
	}
	for i, e := range s.Effects {
		story.Effects[i] = effectJSON{
			Effect: e, MaxAttempts: v.Max, NextAttemptAt: phrase.NextAttempt(e), NotGivenUpBefore: v.NotGivenUpBefore(e),
			FailedItems: withoutResponses(v.Failed[e.Name]), Commands: v.Commands(e),
		}
	}
	return story
}
