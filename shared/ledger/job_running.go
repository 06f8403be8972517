package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// runningPath is the one document of the batches that run for jobs.
const runningPath Path = PassesCollection + "/batches"

// RunningBatches are the parts that count as batches that run, of all jobs together. Each step of a job
// decides again which of its own do, so that a later one corrects what a crash left.
type RunningBatches struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	// Parts has since when each counts, by the document id of its key.
	Parts map[string]time.Time `json:"parts,omitempty" firestore:"parts,omitempty"`
}

// without returns s without the parts of a job that are among the open ones, or have ended. more: there are
// further open parts, of which nothing is known.
func (s RunningBatches) without(key operation.Key, open []job.Part, more bool) RunningBatches {
	s.Parts = maps.Clone(s.Parts)
	maps.DeleteFunc(s.Parts, func(id string, _ time.Time) bool {
		of, number, ok := operation.ParsePart(strings.ReplaceAll(id, ":", "/")) // a part's key has no other escape
		known := slices.ContainsFunc(open, func(p job.Part) bool { return p.Number == number })
		return ok && of == key && (known || !more)
	})
	return s
}

// with returns the write of s with these parts, where it differs from what is stored.
func (s RunningBatches) with(parts []operation.Key, stored RunningBatches, doc Document, now time.Time) []Write {
	if s.Parts == nil {
		s.Parts = map[string]time.Time{}
	}
	for _, key := range parts {
		id := escapeID(string(key))
		since, counted := stored.Parts[id]
		if !counted {
			since = now
		}
		s.Parts[id] = since
	}
	if maps.EqualFunc(s.Parts, stored.Parts, time.Time.Equal) {
		return nil
	}
	s.Schema, s.Version = max(s.Schema, jobSchema), s.Version+1
	return []Write{{Path: doc.Path, Token: doc.Token, Data: s}}
}

// Running returns how many batches count as running, of all jobs, and how many may.
func (l jobsReader) Running(ctx context.Context) (running, most int, err error) {
	snapshot, err := l.store.Get(ctx, runningPath)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the batches that run: %w", err)
	}
	s, err := decode(snapshot.Documents[0], func(RunningBatches) Path { return runningPath })
	return len(s.Parts), l.settings.MaxBatches, err
}
