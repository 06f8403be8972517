package geminisim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// fates says what became of each key of a batch.
func fates(t *testing.T, sim *geminisim.Sim, batch string) map[string]string {
	t.Helper()
	of := map[string]string{}
	for _, line := range download(t, sim, batch) {
		if r, what := judge(line); r.Key != "" {
			of[r.Key] = what
		}
	}
	return of
}

// TestFates: what becomes of a key depends on the seed and the batch, and neither on the order of the
// input nor on that of a download.
func TestFates(t *testing.T) {
	t.Parallel()
	faults := geminisim.Faults{ItemErrors: 0.5, Shuffled: 0.5}
	run := func(seed uint64, lines []string) (first, again, second map[string]string) {
		sim, client, _ := serve(t, geminisim.Config{Seed: seed, Faults: faults})
		one := ask(t, sim, client, "one", geminisim.StateSucceeded, lines...)
		two := ask(t, sim, client, "two", geminisim.StateSucceeded, lines...)
		return fates(t, sim, one.Name), fates(t, sim, one.Name), fates(t, sim, two.Name)
	}
	lines := asks(40)
	first, again, second := run(1, lines)
	slices.Reverse(lines)
	reversed, _, _ := run(1, lines)
	another, _, _ := run(2, lines)
	for what, other := range map[string]map[string]string{"read again": again, "in another order": reversed} {
		if diff := cmp.Diff(first, other); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	for what, other := range map[string]map[string]string{"another batch": second, "another seed": another} {
		if cmp.Equal(first, other) || len(other) != len(first) {
			t.Errorf("%s is the same, or has %d keys", what, len(other))
		}
	}
}

// TestPartialCancelled: a cancelled batch may have a result file with a part of the lines, whose number
// its counts have. A batch that was not uploaded here never has one.
func TestPartialCancelled(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Seed: 3, Faults: geminisim.Faults{PartialCancelled: 1, FailedItems: 0.2}})
	job := ask(t, sim, client, "job", geminisim.StateRunning, asks(60)...)
	if err := sim.SetState(job.Name, geminisim.StateCancelled); err != nil {
		t.Fatal(err)
	}
	batch := show(t, sim, job.Name)
	results := fates(t, sim, job.Name)
	done := 0
	for _, what := range results {
		if what == "done" {
			done++
		}
	}
	truth := sim.Batches()[0]
	if len(results) == 0 || len(results) == 60 || done == len(results) || batch.Error.Code != 1 ||
		batch.Metadata.Output == nil || batch.Metadata.Output.ResponsesFile != truth.ResultFile || !truth.Partial ||
		truth.Requests != 60 || truth.InputFile != batch.Metadata.InputConfig.FileName {
		t.Errorf("%d lines, %d done: %+v, %+v", len(results), done, batch, truth)
	}
	wantStats(t, "cancelled", batch.Metadata.BatchStats, 60, done)
	if st := sim.Stats(); st.PartialResults != 1 || st.ItemErrors != len(results)-done {
		t.Errorf("%+v", st)
	}
	sim.Script("other", geminisim.Script{Hold: geminisim.StateCancelled})
	if other := create(t, client, "other"); other.Dest != nil && other.Dest.FileName != "" {
		t.Errorf("%+v", other.Dest)
	}
	for _, state := range []geminisim.State{geminisim.StateExpired, geminisim.StateFailed} {
		if ended := ask(t, sim, client, string(state), state, asks(1)...); ended.Dest != nil && ended.Dest.FileName != "" {
			t.Errorf("%s has results", state)
		}
	}
}

// TestCancelsIgnored: a batch whose cancellation was answered may succeed all the same.
func TestCancelsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := geminisim.New(geminisim.Config{Faults: geminisim.Faults{CancelsIgnored: 1}})
		defer sim.Close()
		name := submit(t, sim, "job")
		if w := call(t, sim, "POST", "/v1beta/"+name+":cancel", ""); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		waitWithin(t, week, sim, func(st geminisim.Stats) bool { return st.Settled == 1 })
		if got := sim.Batches()[0].State; got != geminisim.StateSucceeded || sim.Stats().CancelsIgnored != 1 {
			t.Errorf("%s, %+v", got, sim.Stats())
		}
	})
}

// TestForeignInput: a get may show the input file of another batch, while the creation and a list show
// its own.
func TestForeignInput(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{ForeignInput: 1}})
	job := ask(t, sim, client, "job", geminisim.StateRunning, asks(1)...)
	own := sim.Batches()[0].InputFile
	if got := show(t, sim, job.Name).Metadata.InputConfig.FileName; got == own || !strings.HasPrefix(got, "files/") {
		t.Errorf("%s, its own is %s", got, own)
	}
	if w := call(t, sim, "GET", "/v1beta/batches", ""); !strings.Contains(w.Body.String(), own) {
		t.Errorf("%s is not in %s", own, w.Body)
	}
	if n := sim.Stats().ForeignInputs; n != 1 {
		t.Errorf("%d are counted", n)
	}
}

// TestNoMetadata: some inline results lack the metadata of their request.
func TestNoMetadata(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{NoMetadata: 0.5}})
	sim.Script("inline", geminisim.Script{Hold: geminisim.StateSucceeded})
	src := &genai.BatchJobSource{}
	for i := range 40 {
		src.InlinedRequests = append(src.InlinedRequests, &genai.InlinedRequest{
			Contents: genai.Text("hello"), Metadata: map[string]string{"key": fmt.Sprint(i)},
		})
	}
	job, err := client.Batches.Create(t.Context(), "m", src, &genai.CreateBatchJobConfig{DisplayName: "inline"})
	if err != nil {
		t.Fatal(err)
	}
	without := 0
	for _, item := range job.Dest.InlinedResponses {
		if item.Metadata == nil {
			without++
		}
	}
	if without == 0 || without == 40 {
		t.Errorf("%d of 40 lack it", without)
	}
}

// TestHarshLines: of an uploaded file about a tenth has to be asked for again, so that few requests fail
// three times. What was not uploaded here has no new fault.
func TestHarshLines(t *testing.T) {
	t.Parallel()
	faults := geminisim.Harsh()
	faults.RefusedCreate, faults.CreatesLimited, faults.CreatesLost, faults.Cut = 0, 0, 0, 0
	faults.APIErrors, faults.APIRateLimited = 0, 0
	sim, client, _ := serve(t, geminisim.Config{Seed: 11, Faults: faults})
	const n = 2000
	failures := map[string]int{}
	for attempt := range 3 {
		job := ask(t, sim, client, fmt.Sprint(attempt), geminisim.StateSucceeded, asks(n)...)
		read := map[string]bool{}
		for key, what := range fates(t, sim, job.Name) {
			read[key] = what != "error" && what != "null"
		}
		failed := 0
		for i := range n {
			if key := fmt.Sprint("review-", i+1); !read[key] {
				failed++
				failures[key]++
			}
		}
		if failed < n*7/100 || failed > n*13/100 {
			t.Errorf("%d of %d failed", failed, n)
		}
	}
	thrice := 0
	for _, times := range failures {
		if times == 3 {
			thrice++
		}
	}
	if thrice > n/200 {
		t.Errorf("%d of %d failed three times", thrice, n)
	}
	sim.Script("file", geminisim.Script{Hold: geminisim.StateSucceeded, Items: n})
	for key, what := range fates(t, sim, submit(t, sim, "file")) {
		if !strings.HasPrefix(key, "request-") || what != "done" && what != "error" {
			t.Errorf("%s: %s", key, what)
		}
	}
}
