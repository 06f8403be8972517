package job

import (
	"cmp"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Options are what a submitter decides about a job. Zero fields take their defaults.
type Options struct {
	// Model is the model of every batch, such as gemini-3.5-flash.
	Model string `json:"model" firestore:"model"`
	// MaxRequestsPerBatch and MaxBytesPerBatch bound a batch; a line larger than the second is a batch alone.
	MaxRequestsPerBatch int64 `json:"maxRequestsPerBatch,omitempty" firestore:"maxRequestsPerBatch,omitempty"`
	MaxBytesPerBatch    int64 `json:"maxBytesPerBatch,omitempty" firestore:"maxBytesPerBatch,omitempty"`
	// MaxAttempts is how often a request is sent at most [J5].
	MaxAttempts int `json:"maxAttempts,omitempty" firestore:"maxAttempts,omitempty"`
	// MaxBatches is how many batches of the job run at once.
	MaxBatches int `json:"maxBatches,omitempty" firestore:"maxBatches,omitempty"`
	// RetryOn are outcomes beside failed that are tried again: invalid, truncated.
	RetryOn []string `json:"retryOn,omitempty" firestore:"retryOn,omitempty"`
	// Validate is how a response is checked: json, schema, or empty.
	Validate string `json:"validate,omitempty" firestore:"validate,omitempty"`
	// MaxFailures is how many requests may end otherwise than done in a job that SUCCEEDED.
	MaxFailures Tolerance `json:"maxFailures,omitempty" firestore:"maxFailures,omitempty"`
	// StopAfter is the number of such requests after which no further batch is started; empty: none.
	StopAfter Tolerance `json:"stopAfter,omitempty" firestore:"stopAfter,omitempty"`
	// Embed: each request is an EmbedContentRequest, and its answer an embedding.
	Embed bool `json:"embed,omitempty" firestore:"embed,omitempty"`
	// CancelAfterSeconds is for how long a batch may run before it is cancelled; what it did not do is sent again; 0: for
	// as long as Gemini lets it.
	CancelAfterSeconds int64 `json:"cancelAfterSeconds,omitempty" firestore:"cancelAfterSeconds,omitempty"`
	// Deadline is from when on nothing is started, and what runs is cancelled; zero: never [J12].
	Deadline time.Time `json:"deadline,omitzero" firestore:"deadline,omitempty"`
	// Priority: of the jobs that wait for room, those with a higher one go first.
	Priority int `json:"priority,omitempty" firestore:"priority,omitempty"`
	// Pilot is how many of the first requests run before all others, as one batch; zero: none [J13].
	Pilot int64 `json:"pilot,omitempty" firestore:"pilot,omitempty"`
	// PilotFailures is how many of them may end otherwise than done before the job is held; empty without a pilot.
	PilotFailures Tolerance `json:"pilotFailures,omitempty" firestore:"pilotFailures,omitempty"`
	// MaxCost is how much the job may cost, in dollars and as an estimate by its Price; zero: as much as it does [J10].
	MaxCost float64 `json:"maxCost,omitempty" firestore:"maxCost,omitempty"`
}

// An Input is a job's requests: one object of job storage.
type Input struct {
	SHA256   string `json:"sha256" firestore:"sha256"` // of the bytes, in hexadecimal digits
	Bytes    int64  `json:"bytes" firestore:"bytes"`
	Requests int64  `json:"requests" firestore:"requests"`
	// Tokens is the submitter's estimate of the input's tokens; 0: it gave none. See [Job.Tokens].
	Tokens int64  `json:"tokens,omitempty" firestore:"tokens,omitempty"`
	Object string `json:"object" firestore:"object"`
	// Checked: every line was checked before the job was submitted, not its key alone.
	Checked bool `json:"checked,omitempty" firestore:"checked,omitempty"`
}

// A Phase is how far a job is.
type Phase string

// The phases of a job.
const (
	Splitting Phase = "SPLITTING" // the input is cut into parts
	Running   Phase = "RUNNING"   // its batches run
	Finishing Phase = "FINISHING" // the results are merged
	Ended     Phase = "ENDED"     // the results are merged; what remains is to settle its record
)

// A Gathering is the open requests of one round that wait for a batch of the next.
type Gathering struct {
	Round    int       `json:"round" firestore:"round"` // of the part that they will be in
	Sources  []Source  `json:"sources" firestore:"sources"`
	Requests int64     `json:"requests" firestore:"requests"`
	Bytes    int64     `json:"bytes" firestore:"bytes"`
	Since    time.Time `json:"since" firestore:"since"`
}

// A Hold is why a job starts nothing for now [J11]. What runs goes on, and is collected.
type Hold struct {
	Reason HoldReason `json:"reason" firestore:"reason"`
	// By and Why are who paused the job and for what; where opledger itself did, Why has the numbers.
	operation.Decided
	// Alerted: an alert has said it. Of what an operator decided there is none.
	Alerted bool `json:"alerted,omitempty" firestore:"alerted,omitempty"`
}

// A HoldReason is what a job waits for that is held.
type HoldReason string

// The reasons to hold a job.
const (
	HeldByOperator HoldReason = "paused" // an operator has paused it
	HeldByCost     HoldReason = "cost"   // its next batch would cost more than it may [J10]
	HeldByPilot    HoldReason = "pilot"  // too many requests of its pilot were not done [J13]
	// HeldByReferences: too many requests name a file or a cache that Gemini does not have any more [J15].
	HeldByReferences HoldReason = "references"
)

// An Output is the objects that a job leaves. They are the user's.
type Output struct {
	Results   Object `json:"results,omitzero" firestore:"results,omitempty"`
	Failed    Object `json:"failed,omitzero" firestore:"failed,omitempty"`       // without a name where no request failed
	Unmatched Object `json:"unmatched,omitzero" firestore:"unmatched,omitempty"` // without a name where there is none
}

// A Job is the plan of one job, and what was counted so far. It is stored at jobs/ID.
type Job struct {
	Schema  int           `json:"schema" firestore:"schema"`
	Version int64         `json:"version" firestore:"version"`
	Key     operation.Key `json:"key" firestore:"key"`
	Options Options       `json:"options" firestore:"options"`
	Input   Input         `json:"input" firestore:"input"`
	// Storage is where the job's objects are; a worker that has another storage leaves the job alone.
	Storage string `json:"storage" firestore:"storage"`
	JobKind string `json:"jobKind,omitempty" firestore:"jobKind,omitempty"`
	Phase   Phase  `json:"phase" firestore:"phase"`
	// Cut is how many bytes of the input are in parts, Parts the number of the last part.
	Cut   int64 `json:"cut" firestore:"cut"`
	Parts int   `json:"parts" firestore:"parts"`
	// Batches counts the batches that were collected and consumed.
	Batches int `json:"batches" firestore:"batches"`
	// Twins counts batches that are never collected: those that Gemini made of a part beside its own, and those that
	// were released, because they may still run [J2].
	Twins   int         `json:"twins,omitempty" firestore:"twins,omitempty"`
	Round   int         `json:"round" firestore:"round"` // the highest of a part
	Waiting []Gathering `json:"waiting,omitempty" firestore:"waiting,omitempty"`
	// Refusals counts, by the number of the first part, the pieces that were made of it [J5].
	Refusals map[string]int `json:"refusals,omitempty" firestore:"refusals,omitempty"`
	Counts   Counts         `json:"counts" firestore:"counts"`
	Usage    Usage          `json:"usage" firestore:"usage"`
	// Invalid is what is wrong with the input, of which nothing was sent then.
	Invalid string `json:"invalid,omitempty" firestore:"invalid,omitempty"`
	// Refusal is what Gemini said when it last refused a batch as a whole.
	Refusal string `json:"refusal,omitempty" firestore:"refusal,omitempty"`
	// Cancelled is who asked to cancel the job; Stopped is why no further batch is started.
	Cancelled *operation.Decided `json:"cancelled,omitempty" firestore:"cancelled,omitempty"`
	Stopped   string             `json:"stopped,omitempty" firestore:"stopped,omitempty"`
	// DeadlineReached is when the job found that its deadline is past, with requests that are open.
	DeadlineReached time.Time `json:"deadlineReached,omitzero" firestore:"deadlineReached,omitempty"`
	// Submitted are the options as they were submitted [J1], if they were changed since; Changes are the last changes.
	Submitted *Options `json:"submitted,omitempty" firestore:"submitted,omitempty"`
	Changes   []Change `json:"changes,omitempty" firestore:"changes,omitempty"`
	// Hold is why the job starts nothing until someone resumes or cancels it; nil: it is not held. Resumed is who ended
	// the last one.
	Hold    *Hold              `json:"hold,omitempty" firestore:"hold,omitempty"`
	Resumed *operation.Decided `json:"resumed,omitempty" firestore:"resumed,omitempty"`
	// Redrives is the job whose requests this one has; empty: it is no redrive. RedrivenBy are the jobs that have
	// requests of this one, which has ended [J14].
	Redrives   operation.Key `json:"redrives,omitempty" firestore:"redrives,omitempty"`
	RedrivenBy []Redrive     `json:"redrivenBy,omitempty" firestore:"redrivenBy,omitempty"`
	// Pilot is how many requests the job's pilot has, until it is decided whether the others are started [J13].
	Pilot int64 `json:"pilot,omitempty" firestore:"pilot,omitempty"`
	// References are the files and caches at Gemini that its requests name [J15].
	References References `json:"references,omitzero" firestore:"references,omitempty"`
	// Price is that of the model when the job was submitted; nil: it is not known.
	Price *Price `json:"price,omitempty" firestore:"price,omitempty"`
	// Sent are the requests of the batches whose tokens are in Usage.
	Sent int64 `json:"sent,omitempty" firestore:"sent,omitempty"`
	// Failures are the first requests of each outcome that ended otherwise than done, for people.
	Failures  []Failure `json:"failures,omitempty" firestore:"failures,omitempty"`
	Output    Output    `json:"output,omitzero" firestore:"output,omitempty"`
	CreatedAt time.Time `json:"createdAt" firestore:"createdAt"`
	// SteppedAt is when the job last advanced.
	SteppedAt time.Time `json:"steppedAt" firestore:"steppedAt"`
	ExpireAt  time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
}

// The defaults and bounds of Options.
const (
	DefaultMaxRequestsPerBatch = 10_000
	DefaultMaxBytesPerBatch    = 200 << 20
	MaxBytesPerBatch           = 2 << 30
	DefaultMaxAttempts         = 3
	MostAttempts               = 10
	DefaultMaxBatches          = 20
	MostBatches                = 100
	// MostPriority bounds a priority, up and down.
	MostPriority         = 100
	DefaultPilotFailures = "5%"
	// MostParts bounds the parts of a job, rounds and pieces included.
	MostParts = 10_000
)

// WithDefaults returns the options with the defaults in place of zeros.
func (o Options) WithDefaults() Options {
	o.MaxRequestsPerBatch = cmp.Or(o.MaxRequestsPerBatch, DefaultMaxRequestsPerBatch)
	o.MaxBytesPerBatch = cmp.Or(o.MaxBytesPerBatch, DefaultMaxBytesPerBatch)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, DefaultMaxAttempts)
	o.MaxBatches = cmp.Or(o.MaxBatches, DefaultMaxBatches)
	if o.Pilot > 0 {
		o.PilotFailures = cmp.Or(o.PilotFailures, DefaultPilotFailures)
	}
	return o
}
