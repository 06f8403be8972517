package job

import (
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A State is the state of a part. It only advances.
type State string

// The states of a part.
const (
	Planned   State = "PLANNED"   // it waits for a free batch
	Starting  State = "STARTING"  // its start is planned; it counts as a batch
	Started   State = "STARTED"   // Gemini has its batch
	Collected State = "COLLECTED" // the batch's result is in job storage
	Refused   State = "REFUSED"   // Gemini refused the batch as a whole; Pieces are smaller ones
	Dropped   State = "DROPPED"   // no further batch is made of it; finish makes its requests final
	Consumed  State = "CONSUMED"  // counted, its open requests given to other parts
	Released  State = "RELEASED"  // given up by an operator, its requests given to another part [J6]
)

// Open reports whether a part still has to be decided about.
func (s State) Open() bool { return s != Dropped && s != Consumed && s != Released }

// A Wait is why the start of a part was put off.
type Wait string

// What the start of a part waits for.
const (
	WaitsForQuota  Wait = "quota"  // Gemini takes no further batch now
	WaitsForAccess Wait = "access" // Gemini refuses the API key, or the project may not do this
	WaitsForIntent Wait = "intent" // a batch may have been created: an event or Gemini's list decides
	WaitsForGemini Wait = "gemini" // Gemini fails, or cannot be reached
	WaitsForResume Wait = "resume" // the job is held
	// Gemini stores no further file: what is uploaded and what it keeps of results fill the project's storage.
	WaitsForStorage Wait = "storage"
	// What a part waits for that has no place among the batches that run: see [Room].
	WaitsForBatch  Wait = "batch"  // as many batches run as may
	WaitsForTokens Wait = "tokens" // the batches that run have reserved the model's enqueued tokens
)

// Running reports whether the part counts as one of the batches that run.
func (s State) Running() bool { return s == Starting || s == Started }

// SetAside reports whether the part is starting and has no place among the batches that run.
func (p Part) SetAside() bool { return p.State == Starting && p.Aside }

// An Object is an object of job storage, as a commit names it. What no commit names does not exist.
type Object struct {
	Name   string `json:"name" firestore:"name"` // below the job's folder of the storage
	Size   int64  `json:"size" firestore:"size"` // in bytes
	CRC32C uint32 `json:"crc32c" firestore:"crc32c"`
}

// A Source is a range of lines in an object of job storage: requests, one a line.
type Source struct {
	Object   string `json:"object" firestore:"object"`
	Offset   int64  `json:"offset,omitempty" firestore:"offset,omitempty"` // in bytes
	Length   int64  `json:"length" firestore:"length"`                     // in bytes
	Requests int64  `json:"requests" firestore:"requests"`
}

// Total returns the requests and the bytes of sources.
func Total(sources []Source) (requests, bytes int64) {
	for _, s := range sources {
		requests, bytes = requests+s.Requests, bytes+s.Length
	}
	return requests, bytes
}

// A File is a part's input at Gemini.
type File struct {
	Name      string    `json:"name" firestore:"name"`
	ExpiresAt time.Time `json:"expiresAt,omitzero" firestore:"expiresAt,omitempty"`
}

// A Part is the requests of one batch. It is stored at jobs/ID/parts/NUMBER.
type Part struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	// Key names the part: [operation.PartKey].
	Key    operation.Key `json:"key" firestore:"key"`
	Number int           `json:"number" firestore:"number"`
	// Round is how often the part's requests will have been sent once its batch has run [J5].
	Round int `json:"round" firestore:"round"`
	// Root is the part that this one is a piece of, of the pilot also what is left of it; Depth is how often that was
	// split after refusals.
	Root  int   `json:"root,omitempty" firestore:"root,omitempty"`
	Depth int   `json:"depth,omitempty" firestore:"depth,omitempty"`
	State State `json:"state" firestore:"state"`
	// Sources are the part's requests, Requests and Bytes their totals.
	Sources  []Source `json:"sources" firestore:"sources"`
	Requests int64    `json:"requests" firestore:"requests"`
	Bytes    int64    `json:"bytes" firestore:"bytes"`
	// Files are its inputs that were uploaded, the latest last. A batch with another input is foreign.
	Files []File `json:"files,omitempty" firestore:"files,omitempty"`
	// Creations counts the requests that create a batch, each before it is sent [J5].
	Creations int `json:"creations,omitempty" firestore:"creations,omitempty"`
	// Declined counts those that surely made no batch, and whose refusal says nothing of the requests.
	Declined int `json:"declined,omitempty" firestore:"declined,omitempty"`
	// Batch is the one that the part's intent is bound to.
	Batch operation.Key `json:"batch,omitempty" firestore:"batch,omitempty"`
	// StartedAt is when it was found that Gemini has the batch, by the clock of the worker.
	StartedAt time.Time `json:"startedAt,omitzero" firestore:"startedAt,omitempty"`
	// CancelAt is when the batch has run for longer than it may, as its job had it when it was started; zero: never.
	CancelAt time.Time `json:"cancelAt,omitzero" firestore:"cancelAt,omitempty"`
	// Waits says why a start is put off, and WaitsSince since when for this reason.
	Waits      Wait      `json:"waits,omitempty" firestore:"waits,omitempty"`
	WaitsSince time.Time `json:"waitsSince,omitzero" firestore:"waitsSince,omitempty"`
	// PutOffSince is when the start was first put off, for any reason. Alerted: an alert has said that it is for long.
	PutOffSince time.Time `json:"putOffSince,omitzero" firestore:"putOffSince,omitempty"`
	Alerted     bool      `json:"alerted,omitempty" firestore:"alerted,omitempty"`
	// Aside: the part is starting, and has given its place among the batches that run to others. It gets one again at
	// PlacedAt, before anything more of it is sent [J10].
	Aside    bool      `json:"aside,omitempty" firestore:"aside,omitempty"`
	PlacedAt time.Time `json:"placedAt,omitzero" firestore:"placedAt,omitempty"`
	// TooLarge: its batch would be, or was, above what Gemini's quota of tokens takes at once. It is split without being
	// sent, and that costs no attempt.
	TooLarge bool `json:"tooLarge,omitempty" firestore:"tooLarge,omitempty"`
	// LookUp says whether the job's references are looked up before the part is started, and LookedUp what was found,
	// while the job has not taken it over; it is complete once it has a round.
	LookUp   LookUp      `json:"lookUp,omitempty" firestore:"lookUp,omitempty"`
	LookedUp *References `json:"lookedUp,omitempty" firestore:"lookedUp,omitempty"`
	// Unreferenced: requests of the part have ended refused, because what they name is gone, and Pieces has the others; or
	// what one names has expired since it was looked up, and Pieces has all.
	Unreferenced bool `json:"unreferenced,omitempty" firestore:"unreferenced,omitempty"`
	// Problem is why the part was refused or dropped, or how its batch ended that did not succeed, in Gemini's words
	// where they are its.
	Problem string `json:"problem,omitempty" firestore:"problem,omitempty"`
	// Pieces are the ranges that a refused part is split into.
	Pieces []Source `json:"pieces,omitempty" firestore:"pieces,omitempty"`
	// CancelPlanned: an effect asks Gemini to cancel the batch.
	CancelPlanned bool `json:"cancelPlanned,omitempty" firestore:"cancelPlanned,omitempty"`
	// Released is the operator's decision that the batch is given up [J6].
	Released *operation.Decided `json:"released,omitempty" firestore:"released,omitempty"`
	// Results are what a collect has stored so far. They are complete once the part is COLLECTED.
	Results
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	// WaitingSince is CreatedAt while the part is open, and else absent: a job's open parts are found by it. A part of
	// the pilot has the time of the job, and so is before all others [J13].
	WaitingSince time.Time `json:"waitingSince,omitzero" firestore:"waitingSince,omitempty"`
	ExpireAt     time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// Results are the objects and numbers that a collect leads to.
type Results struct {
	Final     []Object `json:"final,omitempty" firestore:"final,omitempty"`             // lines of results.jsonl
	Failed    []Object `json:"failedLines,omitempty" firestore:"failedLines,omitempty"` // lines of failed.jsonl
	Again     []Source `json:"again,omitempty" firestore:"again,omitempty"`             // requests to be tried again
	Unmatched []Object `json:"unmatched,omitempty" firestore:"unmatched,omitempty"`     // lines that no request asked for
	// Tally describes the keys of a result that lacked requests. One that is read again with the same keys is
	// believed.
	Tally string `json:"tally,omitempty" firestore:"tally,omitempty"`
	// Seen are the keys whose lines were read, while the collect is not complete.
	Seen   []Object `json:"seen,omitempty" firestore:"seen,omitempty"`
	Counts Counts   `json:"counts,omitzero" firestore:"counts,omitempty"`
	Usage  Usage    `json:"usage,omitzero" firestore:"usage,omitempty"`
	// Failures are examples of those that ended otherwise than done.
	Failures []Failure `json:"failures,omitempty" firestore:"failures,omitempty"`
}

// A Failure is a request that ended otherwise than done, as an example for people.
type Failure struct {
	Key     string  `json:"key" firestore:"key"`
	Outcome Outcome `json:"outcome" firestore:"outcome"`
	Why     string  `json:"why,omitempty" firestore:"why,omitempty"`
}

// MostFailures bounds the examples of a part, and those of a job: so many of each outcome.
const MostFailures = 5

// WithFailures returns examples with others behind them, as many as [MostFailures] allows.
func WithFailures(examples []Failure, others ...Failure) []Failure {
	for _, f := range others {
		same := 0
		for _, e := range examples {
			if e.Outcome == f.Outcome {
				same++
			}
		}
		if same < MostFailures {
			examples = append(slices.Clip(examples), f)
		}
	}
	return examples
}

// Counts are the numbers of requests by their final outcome.
type Counts struct {
	Done      int64 `json:"done" firestore:"done"`
	Invalid   int64 `json:"invalid,omitempty" firestore:"invalid,omitempty"`
	Truncated int64 `json:"truncated,omitempty" firestore:"truncated,omitempty"`
	Refused   int64 `json:"refused,omitempty" firestore:"refused,omitempty"`
	Failed    int64 `json:"failed,omitempty" firestore:"failed,omitempty"`
	// Unmatched are lines of results, not requests: nothing had asked for them.
	Unmatched int64 `json:"unmatched,omitempty" firestore:"unmatched,omitempty"`
}

// Add returns the sum of both.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		Done: c.Done + o.Done, Invalid: c.Invalid + o.Invalid, Truncated: c.Truncated + o.Truncated,
		Refused: c.Refused + o.Refused, Failed: c.Failed + o.Failed, Unmatched: c.Unmatched + o.Unmatched,
	}
}

// Final is how many requests have a final outcome.
func (c Counts) Final() int64 { return c.Done + c.NotDone() }

// NotDone is how many requests ended otherwise than done.
func (c Counts) NotDone() int64 { return c.Invalid + c.Truncated + c.Refused + c.Failed }

// Usage are tokens, as Gemini counted them in the results that were read.
type Usage struct {
	Input    int64 `json:"input" firestore:"input"`
	Output   int64 `json:"output" firestore:"output"`
	Thinking int64 `json:"thinking,omitempty" firestore:"thinking,omitempty"`
	Cached   int64 `json:"cached,omitempty" firestore:"cached,omitempty"` // of Input
}

// Add returns the sum of both.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, Output: u.Output + o.Output, Thinking: u.Thinking + o.Thinking,
		Cached: u.Cached + o.Cached,
	}
}

// Total is the sum of what is paid for: input, output and thinking.
func (u Usage) Total() int64 { return u.Input + u.Output + u.Thinking }
