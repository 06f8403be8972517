package steps_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// faults are all that a simulated batch can meet, but what stops a part for an operator.
func faults() geminisim.Faults {
	return geminisim.Faults{
		Failed: 0.05, Cancelled: 0.05, Expired: 0.05, FailedItems: 0.02, Shuffled: 0.5, Cut: 0.1,
		ItemErrors: 0.03, RefusedItems: 0.01, Blocked: 0.01, Safety: 0.01, Truncated: 0.02, BadJSON: 0.02,
		MissingLines: 0.02, NullLines: 0.01, UnreadableLines: 0.01, DoubledLines: 0.02, ForeignLines: 0.01,
		RefusedCreate: 0.05, RefusedBatch: 0.05, PartialCancelled: 0.5, CreatesLimited: 0.1, CreatesLost: 0.1,
		APIErrors: 0.05, APIStale: 0.1, APIHollow: 0.05, StaleRows: 0.05,
	}
}

// TestEachRequestOnce: whatever becomes of lines, batches, creations and downloads, each request has one
// line, with the answer to it, and was sent no more often than allowed [J2, J4, J5, J7, J9].
func TestEachRequestOnce(t *testing.T) {
	t.Parallel()
	seeds, n := harness.Soak(t, []uint64{2}, []uint64{1, 2}, []uint64{1, 2, 3, 4, 5, 6}), 2000
	if !harness.Thorough(t) {
		seeds, n = []uint64{12}, 900
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{
				sim: geminisim.Config{Seed: seed, Faults: faults(), Poison: "About k0777"}, bucket: seed%2 == 0,
			})
			w.submit(requests(n), job.Options{MaxAttempts: 3}) // with fewer some world meets no lost creation
			w.settle()
			j, met := w.ended(), w.sim.Stats()
			if least := int64(met.DoubledLines + met.ForeignLines); j.Counts.Unmatched < least ||
				j.Counts.Unmatched > least+int64(met.NullLines+met.UnreadableLines) {
				t.Errorf("%d lines are unmatched; %+v", j.Counts.Unmatched, met)
			}
			if met.CreatesRefused == 0 || met.BatchesRefused == 0 || met.MissingLines == 0 || met.APICreatesLost == 0 ||
				met.PartialResults == 0 || met.BadJSON == 0 || met.QuotaRefused+met.APIRateLimited == 0 {
				t.Errorf("the world was too kind: %+v", met)
			}
			if line := w.lineOf("k0777"); line.Outcome != job.OutcomeFailed || !strings.Contains(line.Why, "invalid argument") {
				t.Errorf("the request that no batch may have is %+v", line)
			}
		})
	}
}

func (w *world) lineOf(key string) files.Line {
	w.Helper()
	lines, _ := w.output(files.Results)
	i := slices.IndexFunc(lines, func(l files.Line) bool { return l.Key == key })
	if i < 0 {
		w.Fatalf("%s has no line", key)
	}
	return lines[i]
}

// ended checks what a job leaves.
func (w *world) ended() job.Job {
	w.Helper()
	j, rec := w.job(), w.record(nightly)
	state, _ := j.Verdict()
	if j.Phase != job.Ended || rec.State != state || rec.State == operation.Pending {
		w.Errorf("the job is %s, its record %s, want %s", j.Phase, rec.State, state)
	}
	w.eachOnce(j)
	w.canBeSubmitted(j)
	if unmatched, _ := w.output(files.Unmatched); int64(len(unmatched)) != j.Counts.Unmatched {
		w.Errorf("%d unmatched lines, counted %d", len(unmatched), j.Counts.Unmatched)
	}
	// One whose worker is killed behind it runs again, with its key [S4].
	if n := w.effects[nightly]; len(w.effects) != 1 || n != 1 && w.killer == nil {
		w.Errorf("the user's effects ran %v, want one, of the job", w.effects)
	}
	twins := max(j.Twins, w.sim.Stats().CreatesTwice)
	for _, p := range w.parts() {
		if p.State.Open() {
			w.Errorf("%s is %s", p.Key, p.State)
		}
		for _, file := range p.Files {
			if w.isThere(file.Name) && !w.killer.failed("DELETE files") { // which is logged alone
				w.Errorf("%s of %s, which is %s, is still at Gemini", file.Name, p.Key, p.State)
			}
		}
	}
	for key, sent := range w.sim.SentAgain() {
		if sent > j.Options.MaxAttempts+twins {
			w.Errorf("%s was sent %d times, with %d twins", key, sent, twins)
		}
	}
	return j
}

// eachOnce checks results.jsonl: each key once, with the answer to its own request, and the counts.
func (w *world) eachOnce(j job.Job) {
	w.Helper()
	results, text := w.output(files.Results)
	if int64(len(text)) != j.Output.Results.Size {
		w.Errorf("results.jsonl has %d bytes, recorded are %d", len(text), j.Output.Results.Size)
	}
	var counts job.Counts
	var keys []string
	for _, line := range results {
		keys, counts = append(keys, line.Key), counts.Add(line.Outcome.Counts())
		if line.Outcome == job.OutcomeDone && !strings.Contains(string(line.Response), "Result of "+line.Key) {
			w.Errorf("%s has the answer %s", line.Key, line.Response)
		}
		if (line.Why == "") != (line.Outcome == job.OutcomeDone) {
			w.Errorf("%s is %s because of %q", line.Key, line.Outcome, line.Why)
		}
	}
	counts.Unmatched = j.Counts.Unmatched
	if counts != j.Counts {
		w.Errorf("counted %+v, recorded %+v", counts, j.Counts)
	}
	slices.Sort(keys)
	if want := keysOf(w.lines); !slices.Equal(keys, want) {
		w.Errorf("%d keys, want %d", len(keys), len(want))
	}
}

func keysOf(lines []string) (keys []string) {
	for _, line := range lines {
		request, err := job.SplitLine([]byte(line))
		if err != nil {
			panic(err) // the test wrote it
		}
		keys = append(keys, request.Key)
	}
	slices.Sort(keys)
	return keys
}

// canBeSubmitted checks failed.jsonl: it has the requests that are not done, and is an input.
func (w *world) canBeSubmitted(j job.Job) {
	w.Helper()
	failed, text := w.output(files.Failed)
	if int64(len(failed)) != j.Counts.NotDone() {
		w.Errorf("failed.jsonl has %d lines, counted %d", len(failed), j.Counts.NotDone())
	}
	if len(failed) == 0 {
		return
	}
	var again bytes.Buffer
	inputs := func(yield func(string, io.Reader) bool) { yield("failed.jsonl", strings.NewReader(text)) }
	if _, err := job.Canonicalize(&again, inputs, job.CanonicalOptions{}); err != nil {
		w.Fatal(err)
	}
	for line := range strings.Lines(again.String()) {
		if !slices.Contains(w.lines, strings.TrimSuffix(line, "\n")) {
			w.Errorf("it would submit %s", line)
		}
	}
}

func (w *world) isThere(file string) bool {
	request := httptest.NewRequestWithContext(w.Context(), "GET", "/v1beta/"+file, nil)
	request.Header.Set("X-Goog-Api-Key", "key")
	for {
		answer := httptest.NewRecorder()
		w.sim.ServeHTTP(answer, request)
		switch {
		case strings.Contains(answer.Body.String(), `"name":"`+file):
			return true
		case answer.Code == http.StatusForbidden:
			return false
		} // any other is a fault
	}
}
