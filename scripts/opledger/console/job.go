package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// partsPath is the path of the page of all parts of a job.
const partsPath = "/console/parts"

// A jobView is what the pages show of a job beside its record.
type jobView struct {
	progress.Progress
	Shares   []share // of the requests
	store    string  // what commands end with
	Standing *phrase.Standing
	// Said is what Gemini last said to the step that is put off; empty: nothing.
	Said  string
	Parts []partRow // of the job's own page, the open ones first
	// AllParts is the address of all parts, where Parts are the open ones alone; empty: Parts are all.
	AllParts string
	// ResultsLine is the command that prints the results that are final.
	ResultsLine string
	// More: behind the open parts that were read there are others, which may run, too.
	More bool
}

func newJobView(p progress.Progress, store string) *jobView {
	return &jobView{Progress: p, Shares: shares(p), store: store, Standing: phrase.JobStanding(p, store)}
}

// viewJob reads the parts that the page of a job shows: all, or where they are many the first that are open.
func (c *Console) viewJob(r *request, s subject) (*jobView, []ledger.Broken, error) {
	j, read := *s.Job, c.ledger.Jobs.Parts
	many := j.Parts > c.options.Parts
	if many {
		read = c.ledger.Jobs.OpenParts
	}
	page, err := read(r, j.Key, ledger.Cursor{}, c.options.Parts)
	if err != nil {
		return nil, nil, err
	}
	var open, closed []ledger.StoredPart
	for _, p := range page.Items {
		if p.State.Open() {
			open = append(open, p)
		} else {
			closed = append(closed, p)
		}
	}
	running, err := c.ledger.Jobs.Running(r)
	if err != nil {
		return nil, nil, err
	}
	v := newJobView(progress.Of(j, s.Record, open, running), s.view.StoreFlag())
	v.ResultsLine = "opledger results " + s.view.Operation(j.Key)
	if err := c.readSaid(r, v); err != nil {
		return v, page.Broken, err
	}
	v.Parts = c.partRows(r, slices.Concat(open, closed), v.turn()) // what an operator can still change comes first
	if many {
		v.AllParts = link(partsPath, theKey, string(j.Key))
		if v.More = page.Next.Path != ""; v.More { // what is not read is taken for planned
			v.Batches.Planned = v.Batches.Total - v.Batches.Done - v.Batches.Running
		}
	}
	return v, page.Broken, nil
}

// turn says what a part waits for whose turn has not come.
func (v jobView) turn() string {
	switch w := v.Waiting; {
	case v.Hold != nil:
		return phrase.WaitsFor(job.WaitsForResume)
	case v.Pilot > 0:
		return "the job's pilot"
	case w != nil && (w.Reason == job.WaitsForTokens || w.Reason == job.WaitsForBatch):
		return phrase.WaitsFor(w.Reason)
	default:
		return ownTurn
	}
}

// readSaid reads what Gemini said to the step that the job waits for.
func (c *Console) readSaid(r *request, v *jobView) error {
	if v.Standing == nil || v.Hold != nil || v.Waiting.Part == "" {
		return nil
	}
	part := v.Waiting.Part
	effects, _, err := c.ledger.Effects.Read(r, ledger.EffectName{Operation: part, Effect: job.StepReferences},
		ledger.EffectName{Operation: part, Effect: job.StepStart})
	for _, e := range effects {
		if n := len(e.History); n > 0 && e.State != ledger.EffectDone {
			v.Said = e.History[n-1].Error
		}
	}
	return err
}

// Lead says in a line how far a job is that has not ended. Why it starts nothing has a place of its own.
func (v jobView) Lead() string {
	p := v.Progress
	p.Hold, p.Waiting = nil, nil
	return v.Word() + ": " + phrase.Progress(p, "")
}

// Word is the job's state, or that it is held.
func (v jobView) Word() string {
	switch {
	case v.Hold == nil:
		return phrase.JobState(v.Progress)
	case v.Hold.Reason == job.HeldByOperator:
		return "PAUSED"
	default:
		return "HELD"
	}
}

// WordTone is that of the Word.
func (v jobView) WordTone() phrase.Tone {
	switch {
	case v.Hold != nil:
		return v.Standing.Tone
	case v.Ended():
		return phrase.StateTone(v.State)
	default:
		return phrase.StateTone(v.Phase)
	}
}

// BatchWords are the job's batches in numbers.
func (v jobView) BatchWords() string {
	b := v.Batches
	if v.Phase == job.Splitting {
		return fmt.Sprintf("%s so far; at most %d run at once", phrase.Number(int64(b.Total)), v.Options.MaxBatches)
	}
	words := fmt.Sprintf("%s of %s collected", phrase.Number(int64(b.Done)), phrase.Number(int64(b.Total)))
	switch {
	case v.Ended() && b.Done < b.Total:
		return words + "; the others were refused, released or not started"
	case v.Ended():
		return words
	}
	least, most := "", ""
	if v.More {
		least, most = "at least ", "at most "
	}
	return fmt.Sprintf("%s, %s%s running or starting, %s%s waiting to start; at most %d run at once", words, least,
		phrase.Number(int64(b.Running)), most, phrase.Number(int64(b.Planned)), v.Options.MaxBatches)
}

// Tone is that of the end of a job that did not succeed. A cancellation was asked for.
func (v jobView) Tone() phrase.Tone { return phrase.StateTone(v.State) }

// Tokens are what the results that were read have used; empty before the first.
func (v jobView) Tokens() string { return tokens(v.Usage) }

// Cost is what the job has cost so far, and what it may cost; empty where its model has no price.
func (v jobView) Cost() string {
	if v.Price == nil {
		return ""
	}
	words := "nothing was counted yet"
	if v.EstimatedCost > 0 {
		words = phrase.AboutDollars(v.EstimatedCost)
	}
	if v.Options.MaxCost > 0 {
		words += ", of at most " + phrase.Dollars(v.Options.MaxCost)
	}
	return words
}

// A failed is one of the first requests of a job that have an outcome, and how many have it in all.
type failed struct {
	job.Failure
	All int64
}

// FirstFailures are the first requests that are not done, by outcome.
func (v jobView) FirstFailures() (all []failed) {
	for _, f := range v.Failures {
		all = append(all, failed{f, v.Counts.Of(f.Outcome)})
	}
	slices.SortStableFunc(all, func(a, b failed) int { return strings.Compare(string(a.Outcome), string(b.Outcome)) })
	return all
}

// PilotWords say what waits for the job's pilot.
func (v jobView) PilotWords() string { return phrase.Pilot(v.Progress) }

// Unmatched says what is to be known of lines of results that answer no request.
func (v jobView) Unmatched() string { return phrase.Unmatched(v.Progress, v.store) }

// Objects are the results in job storage, each with its size; none before the job has ended.
func (v jobView) Objects() (all []string) {
	for _, o := range []job.Object{v.Output.Results, v.Output.Failed, v.Output.Unmatched} {
		if o.Name != "" {
			all = append(all, fmt.Sprintf("%s/%s, %s", v.Storage, o.Name, phrase.Bytes(o.Size)))
		}
	}
	return all
}

// tokens are those of a usage, by what they were used for.
func tokens(u job.Usage) string {
	if u.Total() == 0 {
		return ""
	}
	words := []string{fmt.Sprintf("%s: input %s", phrase.Tokens(u.Total()), phrase.Number(u.Input))}
	if u.Cached > 0 {
		words[0] += fmt.Sprintf(" (%s of it cached)", phrase.Number(u.Cached))
	}
	words = append(words, "output "+phrase.Number(u.Output))
	if u.Thinking > 0 {
		words = append(words, "thinking "+phrase.Number(u.Thinking))
	}
	return strings.Join(words, ", ")
}

// A share is the requests of a job with one outcome, as a piece of a bar.
type share struct {
	Outcome string
	N       int64
	X, W    int // in the bar's picture
}

// The measures of the bar: a share that is not empty can be seen, however small it is.
const (
	barWidth   = 1000
	leastShare = 6
)

// shares are the requests by their outcomes. What a job usually has is there even if it is empty.
func shares(p progress.Progress) (all []share) {
	x := 0
	for _, s := range []share{
		{Outcome: "done", N: p.Counts.Done}, {Outcome: "refused", N: p.Counts.Refused},
		{Outcome: "failed", N: p.Counts.Failed}, {Outcome: "invalid", N: p.Counts.Invalid},
		{Outcome: "truncated", N: p.Counts.Truncated}, {Outcome: "open", N: p.Open},
	} {
		if s.N > 0 {
			s.X, s.W = x, max(leastShare, int(float64(s.N)/float64(max(p.Input.Requests, s.N))*barWidth))
			x += s.W
		}
		all = append(all, s)
	}
	return all
}

// BarWidth is the width of all shares together.
func (v jobView) BarWidth() (width int) {
	for _, s := range v.Shares {
		width += s.W
	}
	return max(width, 1)
}

// Describe is the bar in one sentence, for a reader who does not see it.
func (v jobView) Describe() string {
	words := make([]string, len(v.Shares))
	for i, s := range v.Shares {
		words[i] = phrase.Number(s.N) + " " + s.Outcome
	}
	return phrase.Amount(v.Input.Requests, "request") + ": " + strings.Join(words, ", ")
}

// A batchOf is the part whose batch an operation is.
type batchOf struct {
	Key, Job operation.Key
	Number   int
	State    job.State // empty: the job has expired, or was not read
	Own      operation.Key
}

// batchOf returns the part whose batch the subject is; nil: none.
func (s subject) batchOf() *batchOf {
	of := partOf(s.Record)
	if of != nil && s.Part != nil {
		of.State = s.Part.State
		if s.Part.Batch != s.Record.Key {
			of.Own = s.Part.Batch
		}
	}
	return of
}

// partOf returns the part whose batch a record is about, as far as the record says; nil: none.
func partOf(r operation.Record) *batchOf {
	if !r.IsPart() {
		return nil
	}
	of := batchOf{Key: operation.Key(r.CorrelationID)}
	of.Job, of.Number, _ = operation.ParsePart(r.CorrelationID)
	return &of
}
