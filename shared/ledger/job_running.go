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
	// Waiting has since when each job waits whose batches found no room, by the document id of its key.
	Waiting map[string]time.Time `json:"waiting,omitempty" firestore:"waiting,omitempty"`
	// Others are the unfinished batches of the project that are of no part here, when Gemini's list was read last,
	// at ListedAt.
	Others   int       `json:"others,omitempty" firestore:"others,omitempty"`
	ListedAt time.Time `json:"listedAt,omitzero" firestore:"listedAt,omitempty"`
}

// Active reports whether a job has batches that run, or waits for room.
func (s RunningBatches) Active() bool { return len(s.Parts)+len(s.Waiting) > 0 }

// room returns how many further batches may run: of the ledger's own, and of all that Gemini lets a project have.
// A list of which no later pass has read anything counts no more.
func (s RunningBatches) room(settings Settings, now time.Time) int {
	others := s.Others
	if now.Sub(s.ListedAt) >= turnTime*settings.Interval {
		others = 0
	}
	return min(settings.MaxBatches, job.MostBatches-others) - len(s.Parts)
}

// without returns s without the parts of a job that are among the open ones, or have ended. more: there are
// further open parts, of which nothing is known.
func (s RunningBatches) without(key operation.Key, open []job.Part, more bool) RunningBatches {
	s.Parts, s.Waiting = maps.Clone(s.Parts), maps.Clone(s.Waiting)
	maps.DeleteFunc(s.Parts, func(id string, _ time.Time) bool {
		of, number, ok := operation.ParsePart(strings.ReplaceAll(id, ":", "/")) // a part's key has no other escape
		known := slices.ContainsFunc(open, func(p job.Part) bool { return p.Number == number })
		return ok && of == key && (known || !more)
	})
	return s
}

// turnTime is for how many intervals it counts what a pass has found: that a job waits, which keeps others from
// starting batches, and what Gemini has unfinished. In that time another pass has found it again, or none is made.
const turnTime = 3

// oldest returns the job that has waited longest, and since when; empty where none waits. Those that wait for
// longer than turnTime are left out: nothing has looked at them.
func (s RunningBatches) oldest(now time.Time, interval time.Duration) (key operation.Key, since time.Time) {
	for id, at := range s.Waiting {
		if now.Sub(at) < turnTime*interval && (key == "" || at.Before(since) || at.Equal(since) && jobOf(id) < key) {
			key, since = jobOf(id), at
		}
	}
	return key, since
}

func jobOf(id string) operation.Key { return operation.Key(strings.ReplaceAll(id, ":", "/")) }

// turn returns s after a step of a job. It waits where it would have started further batches, behind all
// others once it has started some.
func (s RunningBatches) turn(key operation.Key, step job.Step, now time.Time, interval time.Duration) RunningBatches {
	id := escapeID(string(key))
	since, waits := s.Waiting[id]
	switch {
	case !step.Wants:
		delete(s.Waiting, id)
	case !waits || len(step.Start) > 0 || now.Sub(since) >= turnTime*interval:
		if s.Waiting == nil {
			s.Waiting = map[string]time.Time{}
		}
		s.Waiting[id] = now
	}
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
	if maps.EqualFunc(s.Parts, stored.Parts, time.Time.Equal) &&
		maps.EqualFunc(s.Waiting, stored.Waiting, time.Time.Equal) {
		return nil
	}
	s.Schema, s.Version = max(s.Schema, jobSchema), s.Version+1
	return []Write{{Path: doc.Path, Token: doc.Token, Data: s}}
}

// Running returns the batches that count as running, of all jobs.
func (l jobsReader) Running(ctx context.Context) (RunningBatches, error) {
	s, _, err := l.running(ctx)
	return s, err
}

func (l *protocol) running(ctx context.Context) (RunningBatches, Snapshot, error) {
	snapshot, err := l.store.Get(ctx, runningPath)
	if err != nil {
		return RunningBatches{}, Snapshot{}, fmt.Errorf("reading the batches that run: %w", err)
	}
	s, err := decode(snapshot.Documents[0], func(RunningBatches) Path { return runningPath })
	return s, snapshot, err
}

// CountListed records how many batches Gemini has unfinished beside those of parts that count as running: they,
// too, count towards Gemini's limit. unfinished has the correlation ids of all in Gemini's list, empty for those
// without one. What is recorded counts until a few intervals have passed without another call. It returns the job that
// has waited longest for room, where there is some.
func (l Jobs) CountListed(ctx context.Context, unfinished []string) (next operation.Key, err error) {
	err = l.retry(ctx, "counting the batches of others", func(int) error {
		s, snapshot, err := l.running(ctx)
		if err != nil {
			return err
		}
		now, others, stored := operation.Instant(snapshot.ReadTime), 0, s
		for _, id := range unfinished {
			if _, counted := s.Parts[escapeID(id)]; !counted {
				others++
			}
		}
		s.Schema, s.Version, s.Others, s.ListedAt = max(s.Schema, jobSchema), s.Version+1, others, now
		if next = ""; s.room(l.settings, now) > 0 {
			next, _ = s.oldest(now, l.settings.Interval)
		}
		// A pass that overlaps another writes nothing, nor does one while there are no others.
		if others == 0 && stored.Others == 0 || others == stored.Others && now.Sub(stored.ListedAt) < l.settings.Interval/2 {
			return nil
		}
		doc := snapshot.Documents[0]
		return l.commit(ctx, Write{Path: doc.Path, Token: doc.Token, Data: s})
	})
	return next, err
}
