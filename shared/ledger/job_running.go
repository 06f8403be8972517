package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
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
	// Tokens has what each of Parts has reserved [J10]. What is not in Parts has reserved nothing.
	Tokens map[string]Reservation `json:"tokens,omitempty" firestore:"tokens,omitempty"`
	// Waiting has since when each job waits whose batches found no room, by the document id of its key.
	Waiting map[string]time.Time `json:"waiting,omitempty" firestore:"waiting,omitempty"`
	// Wants has what each of Waiting lacks.
	Wants map[string]Want `json:"wants,omitempty" firestore:"wants,omitempty"`
	// Held has why each job is held that is, by the document id of its key: so they are found without their plans.
	Held map[string]job.Hold `json:"held,omitempty" firestore:"held,omitempty"`
	// Unmatched has the lines of results that answer no request [J9] of the jobs that ended with such within
	// UnmatchedFor, by the document id of their keys: so they are found without reading what has ended.
	Unmatched map[string]Unmatched `json:"unmatched,omitempty" firestore:"unmatched,omitempty"`
	// Models has by its name what Gemini's refusals say of a model.
	Models map[string]ModelQuota `json:"models,omitempty" firestore:"models,omitempty"`
	// Others are the unfinished batches of the project that are of no part here, when Gemini's list was read last,
	// at ListedAt.
	Others   int       `json:"others,omitempty" firestore:"others,omitempty"`
	ListedAt time.Time `json:"listedAt,omitzero" firestore:"listedAt,omitempty"`
}

// A Reservation is how many tokens of a model's quota a part has reserved, as they are estimated.
type Reservation struct {
	Model  string `json:"model" firestore:"model"`
	Tokens int64  `json:"tokens" firestore:"tokens"`
}

// A Want is what a job lacks to start its next batch.
type Want struct {
	For      job.Wait `json:"for" firestore:"for"` // a batch, or tokens
	Model    string   `json:"model" firestore:"model"`
	Tokens   int64    `json:"tokens" firestore:"tokens"` // of the batch
	Priority int      `json:"priority,omitempty" firestore:"priority,omitempty"`
	// Most is how many batches, or tokens of the model, all jobs may have at once.
	Most int64 `json:"most" firestore:"most"`
}

// Active reports whether a job has batches that run, or waits for room.
func (s RunningBatches) Active() bool { return len(s.Parts)+len(s.Waiting) > 0 }

// Of counts the parts of a job among those that run.
func (s RunningBatches) Of(key operation.Key) (n int) {
	for id := range s.Parts {
		if of, _, ok := operation.ParsePart(string(jobOf(id))); ok && of == key {
			n++
		}
	}
	return n
}

// WantOf returns what a job lacks that waits for room.
func (s RunningBatches) WantOf(key operation.Key) (want Want, waits bool) {
	want, waits = s.Wants[escapeID(string(key))]
	return want, waits
}

// A HeldJob is a job that starts nothing until someone decides about it [J11].
type HeldJob struct {
	Job operation.Key `json:"job"`
	job.Hold
}

// HeldJobs returns the jobs that are held, the one first that is for longest.
func (s RunningBatches) HeldJobs() []HeldJob {
	jobs := make([]HeldJob, 0, len(s.Held))
	for id, hold := range s.Held {
		jobs = append(jobs, HeldJob{jobOf(id), hold})
	}
	slices.SortFunc(jobs, func(a, b HeldJob) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Job, b.Job)) })
	return jobs
}

// mostHeldWhy bounds, in bytes, what is kept of why a job is held.
const mostHeldWhy = 200

// hold notes in s whether a job is held.
func (s RunningBatches) hold(j job.Job) {
	id := escapeID(string(j.Key))
	delete(s.Held, id)
	if j.Held() {
		hold := job.Hold{Reason: j.Hold.Reason, Decided: j.Hold.Decided}
		hold.Why = diag.Cut(hold.Why, mostHeldWhy)
		s.Held[id] = hold
	}
}

// Unmatched are lines of a job's results that answer no request [J9].
type Unmatched struct {
	Lines int64 `json:"lines" firestore:"lines"`
	// Object has the lines. It is in Storage, that of the job.
	Storage string    `json:"storage" firestore:"storage"`
	Object  string    `json:"object" firestore:"object"`
	EndedAt time.Time `json:"endedAt" firestore:"endedAt"`
}

const (
	// UnmatchedFor is how long it is listed that a job has ended with lines of results that answer no request.
	UnmatchedFor = 24 * time.Hour
	// mostUnmatched bounds how many such jobs are listed. The one that ended first is left out then.
	mostUnmatched = 20
)

// An UnmatchedJob is a job that has ended with lines of results that answer no request.
type UnmatchedJob struct {
	Job operation.Key
	Unmatched
}

// UnmatchedJobs returns the jobs that ended within UnmatchedFor with lines of results that answer no request, the
// last to end first.
func (s RunningBatches) UnmatchedJobs(now time.Time) []UnmatchedJob {
	var jobs []UnmatchedJob
	for id, u := range s.Unmatched {
		if now.Sub(u.EndedAt) <= UnmatchedFor {
			jobs = append(jobs, UnmatchedJob{jobOf(id), u})
		}
	}
	slices.SortFunc(jobs, func(a, b UnmatchedJob) int {
		return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(a.Job, b.Job))
	})
	return jobs
}

// noteUnmatched lists in s a job that has just ended with lines of results that answer no request.
func (s RunningBatches) noteUnmatched(j job.Job, now time.Time) {
	id := escapeID(string(j.Key))
	if _, noted := s.Unmatched[id]; noted || j.Phase != job.Ended || j.Counts.Unmatched == 0 || !j.ExpireAt.IsZero() {
		return
	}
	s.Unmatched[id] = Unmatched{j.Counts.Unmatched, j.Storage, j.Output.Unmatched.Name, now}
	listed := s.UnmatchedJobs(now)
	clear(s.Unmatched)
	for _, u := range listed[:min(len(listed), mostUnmatched)] {
		s.Unmatched[escapeID(string(u.Job))] = u.Unmatched
	}
}

// Reserved returns how many tokens of a model the batches that run have reserved.
func (s RunningBatches) Reserved(model string) (tokens int64) {
	for id, r := range s.Tokens {
		if _, counts := s.Parts[id]; counts && r.Model == model {
			tokens += r.Tokens
		}
	}
	return tokens
}

// most returns how many batches may run: of the ledger's own, and of all that Gemini lets a project have.
// A list of which no later pass has read anything counts no more.
func (s RunningBatches) most(settings Settings, now time.Time) int {
	others := s.Others
	if now.Sub(s.ListedAt) >= turnTime*settings.Interval {
		others = 0
	}
	return min(settings.MaxBatches, job.MostBatches-others)
}

// room returns what other jobs leave to one; s is without its parts. Jobs that wait take turns, those of a higher
// priority first: while one in front waits, those behind it start nothing of what it lacks.
func (s RunningBatches) room(j job.Job, settings Settings, now time.Time) job.Room {
	model := job.ModelName(j.Options.Model)
	r := job.Room{
		Allowed: s.allowed(model, settings, now), Batches: s.most(settings, now) - len(s.Parts), Taken: s.Reserved(model),
	}
	for _, t := range s.turns(now, settings.Interval) {
		if t.key == j.Key || t.Priority < j.Options.Priority {
			break
		}
		if t.For != job.WaitsForTokens {
			r.Batches = 0
		} else if t.Model == model {
			r.Taken = r.Quota
		}
	}
	return r
}

// without returns s without what it lists of a job, and without its parts that are among the open ones, or have ended.
// more: there are further open parts, of which nothing is known.
func (s RunningBatches) without(key operation.Key, open []job.Part, more bool) RunningBatches {
	s.Parts, s.Tokens = copied(s.Parts), copied(s.Tokens)
	s.Waiting, s.Wants, s.Models, s.Held = copied(s.Waiting), copied(s.Wants), copied(s.Models), copied(s.Held)
	s.Unmatched = copied(s.Unmatched)
	delete(s.Held, escapeID(string(key)))
	delete(s.Unmatched, escapeID(string(key)))
	maps.DeleteFunc(s.Parts, func(id string, _ time.Time) bool {
		of, number, ok := operation.ParsePart(strings.ReplaceAll(id, ":", "/")) // a part's key has no other escape
		known := slices.ContainsFunc(open, func(p job.Part) bool { return p.Number == number })
		return ok && of == key && (known || !more)
	})
	maps.DeleteFunc(s.Tokens, func(id string, _ Reservation) bool {
		_, counts := s.Parts[id]
		return !counts
	})
	return s
}

func copied[V any](m map[string]V) map[string]V {
	c := make(map[string]V, len(m))
	maps.Copy(c, m)
	return c
}

// turnTime is for how many intervals it counts what a pass has found: that a job waits, which keeps others from
// starting batches, and what Gemini has unfinished. In that time another pass has found it again, or none is made.
const turnTime = 3

// A waiting is a job that waits for room.
type waiting struct {
	key   operation.Key
	since time.Time
	Want
}

// turns returns the jobs that wait, the one whose turn it is first: that of the highest priority which has waited
// longest. Those that wait for longer than turnTime are left out: nothing has looked at them.
func (s RunningBatches) turns(now time.Time, interval time.Duration) (turns []waiting) {
	for id, at := range s.Waiting {
		if now.Sub(at) < turnTime*interval {
			turns = append(turns, waiting{jobOf(id), at, s.Wants[id]})
		}
	}
	slices.SortFunc(turns, func(a, b waiting) int {
		return cmp.Or(b.Priority-a.Priority, a.since.Compare(b.since), cmp.Compare(a.key, b.key))
	})
	return turns
}

func jobOf(id string) operation.Key { return operation.Key(strings.ReplaceAll(id, ":", "/")) }

// next returns the job whose turn it is of those that have room, other than one; empty where there is none.
func (s RunningBatches) next(other operation.Key, settings Settings, now time.Time) operation.Key {
	short := map[string]bool{} // models of which one in front lacks tokens
	for _, t := range s.turns(now, settings.Interval) {
		quota := s.allowed(t.Model, settings, now).Quota
		switch fits := quota == 0 || s.Reserved(t.Model)+t.Tokens <= quota; {
		case len(s.Parts) >= s.most(settings, now):
			return ""
		case !fits:
			short[t.Model] = true
		case !short[t.Model] && t.key != other:
			return t.key
		}
	}
	return ""
}

// turn notes in s, after a step of a job, what that waits for. It waits behind all others once it has started some.
func (s RunningBatches) turn(j job.Job, step job.Step, settings Settings, now time.Time) {
	id := escapeID(string(j.Key))
	since, waits := s.Waiting[id]
	if step.Wants.For == "" {
		delete(s.Waiting, id)
		delete(s.Wants, id)
		return
	}
	want := Want{
		For: step.Wants.For, Model: job.ModelName(j.Options.Model), Tokens: step.Wants.Tokens, Priority: j.Options.Priority,
		Most: int64(settings.MaxBatches),
	}
	if want.For == job.WaitsForTokens {
		want.Most = settings.EnqueuedTokens[want.Model]
	}
	s.Wants[id] = want
	if !waits || len(step.Start) > 0 || now.Sub(since) >= turnTime*settings.Interval {
		s.Waiting[id] = now
	}
}

// place counts these parts of a job in s, since when they did in what is stored.
func (s RunningBatches) place(j job.Job, places []job.Place, stored RunningBatches, now time.Time) {
	for _, p := range places {
		id := escapeID(string(p.Key))
		since, counted := stored.Parts[id]
		if !counted {
			since = now
		}
		s.Parts[id], s.Tokens[id] = since, Reservation{job.ModelName(j.Options.Model), p.Tokens}
	}
}

// changed returns the write of s, where it differs from what is stored. All times are operation.Instants, of which one
// equals itself.
func (s RunningBatches) changed(stored RunningBatches, doc Document) []Write {
	if maps.Equal(s.Parts, stored.Parts) && maps.Equal(s.Tokens, stored.Tokens) &&
		maps.Equal(s.Waiting, stored.Waiting) && maps.Equal(s.Wants, stored.Wants) &&
		maps.Equal(s.Models, stored.Models) && maps.Equal(s.Held, stored.Held) &&
		maps.Equal(s.Unmatched, stored.Unmatched) {
		return nil
	}
	s.Schema, s.Version = max(s.Schema, jobSchema), s.Version+1
	return []Write{{Path: doc.Path, Token: doc.Token, Data: s}}
}

// Running returns the batches that count as running, of all jobs.
func (l jobsReader) Running(ctx context.Context) (RunningBatches, error) {
	s, _, _, err := l.running(ctx)
	return s, err
}

func (l *protocol) running(ctx context.Context) (RunningBatches, Document, time.Time, error) {
	return readOne[RunningBatches](ctx, l.store, runningPath, "the batches that run")
}
