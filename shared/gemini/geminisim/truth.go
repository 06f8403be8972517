package geminisim

import (
	"maps"
	"time"
)

// JobInfo is the ground truth about one job.
type JobInfo struct {
	// Name is batches/ID, models/MODEL/operations/ID or interactions/ID, where the API names an
	// interaction by its id alone.
	Name string `json:"name"`
	// DisplayName is the label that Script goes by.
	DisplayName string    `json:"displayName,omitempty"`
	State       State     `json:"state"`
	CreateTime  time.Time `json:"createTime"`
	UpdateTime  time.Time `json:"updateTime"`       // when State was reached
	EndTime     time.Time `json:"endTime,omitzero"` // zero while it runs
	// ResultFile is files/ and the id, of a video or of a batch that succeeded with file input.
	ResultFile   string         `json:"resultFile,omitempty"`
	UserMetadata map[string]any `json:"userMetadata,omitempty"`
	Completion   Completion     `json:"completion"`
	// Reached counts attempts to deliver the completion that reached a receiver, whatever it
	// answered.
	Reached int `json:"reached"`
	// Deleted: gone from the API. Deleting does not stop a job.
	Deleted bool `json:"deleted,omitempty"`
}

// BatchInfo is the ground truth about one batch.
type BatchInfo = JobInfo

// Batches returns the truth about every batch ever created, in the order of creation, deleted ones
// included.
func (s *Sim) Batches() []BatchInfo { return s.truth(batchKind) }

// Videos is Batches for videos.
func (s *Sim) Videos() []JobInfo { return s.truth(videoKind) }

// Interactions is Batches for interactions.
func (s *Sim) Interactions() []JobInfo { return s.truth(interactionKind) }

func (s *Sim) truth(k *kind) []JobInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]JobInfo, 0, s.created[k])
	for _, j := range s.jobs {
		if j.kind != k {
			continue
		}
		infos = append(infos, JobInfo{
			Name:         j.name(),
			DisplayName:  j.label,
			State:        j.now.state,
			CreateTime:   j.createTime,
			UpdateTime:   j.now.updateTime,
			EndTime:      j.now.endTime,
			ResultFile:   j.resultFile(j.now),
			UserMetadata: maps.Clone(j.userMetadata),
			Completion:   j.completion(),
			Reached:      j.reached,
			Deleted:      j.deleted,
		})
	}
	return infos
}
