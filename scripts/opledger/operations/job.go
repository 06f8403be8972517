package operations

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// mostParts bounds the parts that show prints of a job.
const mostParts = 100

// A jobView is what show prints of a job beside its record.
type jobView struct {
	Job   *progress.Progress `json:"job,omitempty"`
	Parts []job.Part         `json:"parts,omitempty"` // all, or where they are many the open ones
	// Only the open parts are there, and perhaps not all of them.
	Only bool `json:"openPartsOnly,omitempty"`

	missing map[int]string // parts whose batch Gemini does not find, with what to do
	store   string         // what commands end with
}

// viewJob reads a job for show. Of any other operation the view is empty.
func viewJob(ctx context.Context, l *ledger.Ledger, key operation.Key, store string) (view jobView, err error) {
	view.store = store
	p, err := jobProgress(ctx, l, key)
	if err != nil || p == nil { // it is no job, or what is left of it is its record
		return view, err
	}
	view.Job, view.Only = p, p.Batches.Total > mostParts
	parts := l.Jobs.Parts
	if view.Only {
		parts = l.Jobs.OpenParts
	}
	page, err := parts(ctx, key, ledger.Cursor{}, mostParts)
	if err != nil {
		return view, err
	}
	view.missing = map[int]string{}
	for _, part := range page.Items {
		view.Parts = append(view.Parts, part.Part)
		if part.State != job.Started {
			continue
		}
		batch, err := l.Operations.Read(ctx, part.Batch)
		view.missing[part.Number] = phrase.MissingBatch(batch, store)
		if err != nil {
			view.missing[part.Number] = phrase.Safe(err.Error())
		}
	}
	return view, nil
}

// lines prints how far the job is, what it waits for, and what was decided about it.
func (v jobView) lines(out *terminal.Table) {
	if v.Job == nil {
		return
	}
	p := *v.Job
	model := phrase.Safe(p.Options.Model)
	if p.Options.Embed {
		model += ", embeddings"
	}
	out.Line("  model", model)
	out.Line("  input", fmt.Sprintf("%s, %s, SHA-256 %s", phrase.Amount(p.Input.Requests, "request"),
		phrase.Bytes(p.Input.Bytes), phrase.Safe(p.Input.SHA256)))
	out.Line("  progress", phrase.JobState(p)+" · "+phrase.Progress(p, v.store))
	if !p.Ended() {
		out.Line("  batches", fmt.Sprintf("%d running or starting, of at most %d; %d waiting for a free one",
			p.Batches.Running, p.Options.MaxBatches, p.Batches.Planned))
	}
	if p.Gathered > 0 {
		out.Line("  gathered", phrase.Amount(p.Gathered, "request")+" to be sent again, until they fill a batch, nothing "+
			"else runs, or an hour is over")
	}
	if p.Pilot > 0 && !p.Ended() {
		out.Line("  pilot", phrase.Pilot(p))
	}
	if p.Price != nil {
		out.Line("  cost", fmt.Sprintf("%s, estimated by the tokens that were counted; cached input at the full price",
			phrase.Dollars(p.EstimatedCost)))
	}
	v.decisions(out)
	for _, failure := range p.Failures {
		out.Line("  not done", phrase.NotDone(failure))
	}
	out.Field("  unmatched", phrase.Unmatched(p, v.store))
	for _, object := range []struct {
		label string
		job.Object
	}{{"  results", p.Output.Results}, {"  failed", p.Output.Failed}} {
		if object.Name != "" {
			out.Line(object.label, fmt.Sprintf("%s/%s, %s", phrase.Safe(p.Storage), phrase.Safe(object.Name),
				phrase.Bytes(object.Size)))
		}
	}
}

// decisions prints why a job ends other than by its last batch, and what is unusual.
func (v jobView) decisions(out *terminal.Table) {
	p := *v.Job
	if at := p.Options.Deadline; !at.IsZero() {
		words := phrase.LocalTime(at)
		if !p.DeadlineReached.IsZero() {
			words += ", reached: nothing more is started, and what ran was cancelled"
		}
		out.Field("  deadline", words)
	}
	if p.Hold != nil {
		out.Field("  held", phrase.Held(p.Key, p.Hold, v.store))
	}
	out.Field("  resumed", phrase.Abandoned(p.Resumed))
	for _, c := range p.Changes {
		out.Field("  changed", phrase.Changed(c))
	}
	out.Field("  cancelled", phrase.Abandoned(p.Cancelled))
	out.Field("  stopped", p.Stopped)
	out.Field("  invalid", p.Invalid)
	out.Field("  refused by Gemini", p.Refusal)
	out.Field("  redrives", phrase.Safe(string(p.Redrives)))
	for _, by := range p.RedrivenBy {
		out.Line("  redriven", phrase.Safe(string(by.Job))+": "+phrase.Redriven(by))
	}
	if p.Batches.Twins > 0 {
		out.Line("  twins", fmt.Sprintf("%s never collected: released, or made beside their part's own",
			phrase.Amount(int64(p.Batches.Twins), "batch")))
	}
}

// table prints the parts.
func (v jobView) table(out *terminal.Table) {
	if v.Job == nil || len(v.Parts) == 0 {
		return
	}
	heading := "\nPART"
	if v.Only {
		heading = "\nOPEN PART"
	}
	out.Line(heading, "ROUND", "STATE", "REQUESTS", "DONE", "AGAIN", "BATCH", "WAITS FOR, OR PROBLEM")
	for _, part := range v.Parts {
		out.Line(fmt.Sprintf("%05d", part.Number), part.Round, part.State, phrase.Number(part.Requests),
			phrase.Number(part.Counts.Done), phrase.Number(again(part)), phrase.Safe(string(part.Batch)),
			partWaits(part, v.missing[part.Number]))
	}
	out.Realign()
	if v.Only {
		out.Line(fmt.Sprintf("of %d parts; opledger show %s/NUMBER%s shows any of them", v.Job.Batches.Total,
			v.Job.Key, v.store))
	}
}

// mostProblem bounds what a row says of a part's problem, in bytes. The part's own page says all.
const mostProblem = 80

// partWaits says what a part waits for, or what is wrong with it. missing: that Gemini does not find its batch.
func partWaits(p job.Part, missing string) string {
	var words []string
	if missing != "" && p.Released == nil {
		words = append(words, missing)
	}
	if p.Waits != "" {
		words = append(words, phrase.WaitsFor(p.Waits)+" since "+phrase.LocalTime(p.WaitsSince))
	}
	if p.State == job.Planned && p.Waits == "" {
		words = append(words, "its turn since "+phrase.LocalTime(p.CreatedAt))
	}
	if p.Released != nil {
		words = append(words, "released by "+phrase.Safe(p.Released.By))
	}
	if p.Problem != "" {
		words = append(words, diag.Cut(phrase.Safe(p.Problem), mostProblem))
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, "; ")
}
