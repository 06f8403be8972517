package geminisim

import (
	"maps"
	"time"
)

// OperationInfo is the ground truth about one operation.
type OperationInfo struct {
	// Name is batches/ID, models/MODEL/operations/ID or interactions/ID, where the API names an
	// interaction by its id alone.
	Name string `json:"name"`
	// DisplayName is the label that Script goes by.
	DisplayName string    `json:"displayName,omitempty"`
	State       State     `json:"state"`
	CreateTime  time.Time `json:"createTime"`
	UpdateTime  time.Time `json:"updateTime"`       // when State was reached
	EndTime     time.Time `json:"endTime,omitzero"` // zero while it runs
	// InputFile is what a batch was created from, files/ and the id, and Requests how many it has.
	// Partial: it was cancelled, and its ResultFile has a part of them.
	InputFile string `json:"inputFile,omitempty"`
	Requests  int    `json:"requests,omitempty"`
	Partial   bool   `json:"partial,omitempty"`
	// ResultFile is files/ and the id, of a video or of a batch with file input that has results.
	ResultFile   string         `json:"resultFile,omitempty"`
	UserMetadata map[string]any `json:"userMetadata,omitempty"`
	Completion   Completion     `json:"completion"`
	// Reached counts attempts to deliver the completion that reached a receiver, whatever it
	// answered.
	Reached int `json:"reached"`
	// Deleted: gone from the API. Deleting does not stop an operation.
	Deleted bool `json:"deleted,omitempty"`
}

// Batches returns the truth about every batch ever created, in the order of creation, deleted ones
// included.
func (s *Sim) Batches() []OperationInfo { return s.truth(batchKind) }

// Videos is Batches for videos.
func (s *Sim) Videos() []OperationInfo { return s.truth(videoKind) }

// Interactions is Batches for interactions.
func (s *Sim) Interactions() []OperationInfo { return s.truth(interactionKind) }

func (s *Sim) truth(k *kind) []OperationInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]OperationInfo, 0, s.created[k])
	for _, o := range s.operations {
		if o.kind != k {
			continue
		}
		infos = append(infos, OperationInfo{
			Name:         o.name(),
			DisplayName:  o.label,
			State:        o.now.state,
			CreateTime:   o.createTime,
			UpdateTime:   o.now.updateTime,
			EndTime:      o.now.endTime,
			InputFile:    o.inputFile,
			Requests:     o.size(),
			Partial:      o.isPartial(o.now),
			ResultFile:   o.resultFile(o.now),
			UserMetadata: maps.Clone(o.userMetadata),
			Completion:   o.completion(),
			Reached:      o.reached,
			Deleted:      o.deleted,
		})
	}
	return infos
}
