package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// simulatedModel is the model of all jobs.
const simulatedModel = "m"

// A submission is one job that a user wants, by its id. Another may want another job by the same id.
type submission struct {
	key     operation.Key
	options job.Options
	inputs  []input
	poison  string      // the key of a request for which a batch is refused as a whole
	output  int64       // tokens of each answer
	of      *submission // that it redrives; nil: none
	callers int         // submitters that are not done

	batches   []*batch
	creations map[operation.Key]int // requests to create the batch of a part
	accepted  map[string]bool       // SHA-256 of the inputs that a submitter was told are submitted
	released  map[operation.Key]bool
	cancelled bool      // an operator has asked for it
	paused    bool      // likewise
	resumed   bool      // likewise, at least once
	changed   bool      // likewise: the job may cost more, or less
	heldAt    time.Time // by no clock that leaps; zero: it is not held
}

// An input is what a submitter submits.
type input struct {
	text string
	job.Input

	lines []line
}

// newInput returns an input of so many requests. Of each few, one names each of the files, and one names none.
func newInput(key operation.Key, variant string, requests int, names []string) input {
	var text strings.Builder
	for i := range requests {
		file := ""
		if at := i % (len(names) + 1); at < len(names) {
			file = fmt.Sprintf(`{"fileData":{"fileUri":%q}},`, names[at])
		}
		const one = `{"key":"k%d","request":{"contents":[{"parts":[%s{"text":"%s about k%d"}]}]}}` + "\n"
		_, _ = fmt.Fprintf(&text, one, i, file, variant, i) // it returns no error
	}
	sum := sha256.Sum256([]byte(text.String()))
	in := input{text: text.String(), lines: parsed([]byte(text.String())), Input: job.Input{
		SHA256: hex.EncodeToString(sum[:]), Bytes: int64(text.Len()), Requests: int64(requests),
	}}
	in.Object = files.Input(key, in.SHA256)
	return in
}

// Jobs is the script of the random schedules of jobs: one or two, each of 3 to 12 requests, in batches that end
// in any way. Operators cancel, release, pause and resume, deadlines pass, and files are lost that requests name, while
// calls fail, processes die and messages are lost; then the faults end, and passes drive the world to rest.
func Jobs(w *World) {
	w.objects = &objects{held: map[string]*object{}, flaw: w.store.flaw}
	w.gate.many = true
	w.gemini.files, w.gemini.finished = map[string]*upload{}, map[string]reply{}
	w.gemini.references = map[string]reference{}
	duration := func(of ...time.Duration) time.Duration { return drawn(w, of) }
	w.store.clock.skew = duration(0, 17*time.Minute, -20*time.Minute)
	w.gemini.skew = duration(0, 41*time.Second, -3*time.Minute)
	w.gemini.room = drawn(w, []int{0, 0, 0, 1, 2})
	w.settings.MaxBatches = drawn(w, []int{80, 80, 2, 1})
	w.settings.Prices = job.Prices{simulatedModel: price}
	quotas := []int64{100, 40} // of which a request has some 17
	if !w.store.flaw.needs(knownQuota) {
		quotas = append([]int64{0, 0, 0, 0, 0, 0, 0}, quotas...)
	}
	if quota := drawn(w, quotas); quota > 0 {
		w.settings.EnqueuedTokens = job.Quotas{simulatedModel: quota}
	}
	large := w.gate.choose(Plan, 12) == 1 || w.store.flaw.needs(largeJob)
	jobs := drawn(w, []int{1, 1, 1, 2})
	if w.store.flaw.needs(secondJob) {
		jobs = 2
	}
	for i := range jobs {
		w.addSubmission(i, large && i == 0)
	}
	w.leap()
	passes := 2 + w.gate.choose(Plan, 7)
	for i := range passes {
		w.at(time.Duration(i+1)*w.settings.Interval, w.pass)
	}
	w.at(time.Duration(passes)*w.settings.Interval+2*time.Minute, func() {
		w.gate.event("the faults end", func() { w.gate.calm = true })
		w.setClock(0)
		w.restJobs()
	})
}

// drawn chooses one of a list.
func drawn[T any](w *World, of []T) T { return of[w.gate.choose(Plan, len(of))] }

func newSubmission(key operation.Key) *submission {
	return &submission{
		key: key, creations: map[operation.Key]int{}, accepted: map[string]bool{}, released: map[operation.Key]bool{},
	}
}

// costs are the limits of the cost of a job that are drawn from.
func (w *World) costs() []float64 {
	limits := []float64{5, 9}
	if w.store.flaw.needs(costLimit) {
		return limits
	}
	return append([]float64{0, 0, 0, 0, 0, 0}, limits...)
}

// addSubmission draws a job, with those who submit it and those who interfere with it. A large one is one batch that
// Gemini does not take.
func (w *World) addSubmission(i int, large bool) {
	key := operation.Key(fmt.Sprintf("jobs/j%d", i+1))
	requests := drawn(w, []int{3, 3, 4, 4, 5, 6, 8, 12})
	s := newSubmission(key)
	s.output = drawn(w, []int64{1000, 100, 3000})
	s.options = job.Options{
		Model: simulatedModel, MaxRequestsPerBatch: drawn(w, []int64{2, 3, 4, 1}), MaxAttempts: drawn(w, []int{2, 2, 1, 3}),
		MaxBatches: drawn(w, []int{20, 20, 2, 1}), RetryOn: drawn(w, [][]string{nil, {"truncated"}}),
		MaxFailures: drawn(w, []job.Tolerance{"100%", "0"}), StopAfter: drawn(w, []job.Tolerance{"", "", "", "1", "50%"}),
		Priority: i, MaxCost: drawn(w, w.costs()),
	}
	o := &s.options
	if large {
		const taken, tokens = 110, 18 // so many requests of so many tokens each
		requests, o.MaxRequestsPerBatch, o.MaxCost = 250, 300, 0
		w.gemini.tokens, w.settings.EnqueuedTokens = taken*tokens, nil
		if w.gate.choose(Plan, 4) > 0 { // there is a batch of no job, too
			const runs = 44 * time.Minute
			w.gemini.start(&order{runsAfter: time.Second, endsAfter: runs, end: operation.Succeeded, silent: true}, "", nil)
		}
	}
	names := w.refer(key, large)
	s.inputs = []input{newInput(key, "ask", requests, names), newInput(key, "ask more", requests+1, names)}
	o.Pilot = min(drawn(w, []int64{0, 0, 0, 1, 2}), o.MaxRequestsPerBatch)
	if o.Pilot > 0 {
		o.PilotFailures = drawn(w, []job.Tolerance{"", "0", "50%"})
	}
	if poison := w.gate.choose(Plan, 3*requests); poison < requests && !large {
		s.poison = fmt.Sprintf("k%d", poison)
	}
	w.submissions = append(w.submissions, s)
	for caller, variant := range drawn(w, [][]int{{0}, {0}, {0}, {0, 0}, {0, 1}}) {
		s.callers++
		after := time.Duration(caller) * drawn(w, []time.Duration{0, 3 * time.Second, 4 * time.Minute})
		w.at(after, func() { w.submitJob(s, s.inputs[variant], caller+1) })
	}
	at := []time.Duration{0, 0, 0, 0, 41 * time.Second, 6*time.Minute + time.Second, 17*time.Minute + time.Second}
	if after := drawn(w, at); after > 0 && w.gate.choose(Plan, 3) == 1 {
		w.at(after, func() { w.cancelJob(s) })
	}
	if after := drawn(w, at); after > 0 {
		w.at(after, func() { w.releasePart(s, false) })
	}
	if after := drawn(w, []time.Duration{0, 0, 20 * time.Minute, 31 * time.Minute}); after > 0 {
		s.options.Deadline = operation.Instant(w.store.now().Add(after))
	}
	if after := drawn(w, at); after > 0 {
		w.at(after, func() { w.pauseJob(s) })
		w.at(after+drawn(w, []time.Duration{time.Minute, 9 * time.Minute, time.Hour}), func() { w.resumeJob(s) })
	}
	if after := drawn(w, at); after > 0 {
		to := drawn(w, []float64{0, 7, 50})
		w.at(after, func() { w.changeJob(s, func(float64) float64 { return to }, false) })
	}
	w.addRedrives(s)
}

// submissionOf returns the submission of a job, or of one of its parts; nil where there is none.
func (w *World) submissionOf(key operation.Key) *submission {
	if of, _, isPart := operation.ParsePart(string(key)); isPart {
		key = of
	}
	i := slices.IndexFunc(w.submissions, func(s *submission) bool { return s.key == key })
	if i < 0 {
		return nil
	}
	return w.submissions[i]
}

// submitJob is a submitter's program: it is started again where it did not end well.
func (w *World) submitJob(s *submission, in input, caller int) {
	what := fmt.Sprintf("submitter %d of %s", caller, s.key)
	defer w.gate.event(what+" is done", func() { s.callers-- })
	const runs, patience = 3, 5 * time.Minute
	for range runs {
		w.gate.event(what, nil)
		err := w.serve(newProcess(what), "submit", patience, func(ctx context.Context, a *actor) error {
			store := bucket{a}
			_, err := store.Create(ctx, in.Object, strings.NewReader(in.text))
			if err != nil && !errors.Is(err, storage.ErrExists) {
				return err
			}
			_, err = files.Accept(ctx, a.ledger(), store, ledger.JobRequest{
				Key: s.key, Submission: operation.Submission{JobKind: plainKind}, Options: s.options, Input: in.Input,
			})
			return err
		})
		w.gate.event(what+" has an answer", func() {
			if err == nil {
				s.accepted[in.SHA256] = true
			}
			w.check.answered(s, in, err)
		})
		if err == nil || errors.Is(err, ledger.ErrJobDiffers) {
			return
		}
		time.Sleep(5*time.Minute + 31*time.Second)
	}
}

// restJobs lets time pass, with a pass whenever something is due, until nothing is left to do. An operator
// replays what is DEAD, releases what never ends, and resumes what is held.
func (w *World) restJobs() {
	const most = 3 * restPasses
	for pass := range most {
		var wait time.Duration
		left := ""
		w.gate.event("is there anything left to do?", func() { left, wait = w.check.unfinished(), w.untilDue() })
		if left == "" {
			w.readMerged()
			return
		}
		w.replay()
		for _, s := range w.submissions {
			w.releasePart(s, true)
			w.resumeJob(s)
			w.changeJob(s, func(cost float64) float64 { return 3 * cost }, true)
		}
		if w.gemini.tokens > 0 && pass > restPasses { // what is above that may wait for two days [J10]
			wait = max(wait, 97*time.Minute)
		}
		time.Sleep(wait)
		w.pass()
		time.Sleep(5 * time.Second) // for the messages of the pass
	}
	w.gate.event("there is still something left to do", func() {
		w.check.violated("after %d passes without faults: %s [R2, R5]", most, w.check.unfinished())
	})
}

// partOf returns a part as the store has it.
func (w *World) partOf(key operation.Key) (job.Part, bool) {
	for _, d := range w.store.documents {
		if p, ok := d.data.(job.Part); ok && p.Key == key {
			return p, true
		}
	}
	return job.Part{}, false
}

// jobOf returns a job's plan as the store has it.
func (w *World) jobOf(key operation.Key) (job.Job, bool) {
	return dataOf[job.Job](w.store.documents[ledger.JobPath(key)])
}
