package steps_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lookUps counts the requests for files and caches that pass through it, by what they ask for.
type lookUps struct {
	mu    sync.Mutex
	asked map[string]int
}

func (l *lookUps) through(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		name := strings.TrimPrefix(r.URL.Path, "/v1beta/")
		if r.Method == http.MethodGet && (strings.HasPrefix(name, "files/") || strings.HasPrefix(name, "cachedContents/")) &&
			!strings.HasSuffix(name, ":download") {
			l.mu.Lock()
			if l.asked == nil {
				l.asked = map[string]int{}
			}
			l.asked[name]++
			l.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// taken returns what was asked for since the last call.
func (l *lookUps) taken() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.asked
	l.asked = nil
	return asked
}

// uploaded uploads a file, and returns its name.
func (w *world) uploaded(text string) string {
	w.Helper()
	file, err := w.options.Batches.Upload(w.Context(), "a document", int64(len(text)), strings.NewReader(text))
	if err != nil {
		w.Fatal(err)
	}
	return file.Name
}

// cached makes a cache that is kept for so long, and returns its name.
func (w *world) cached(life time.Duration) string {
	w.Helper()
	body, _ := json.Marshal(map[string]string{"model": "models/m", "ttl": fmt.Sprintf("%ds", int(life.Seconds()))})
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.gemini+"/v1beta/cachedContents",
		bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("X-Goog-Api-Key", "key")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	return w.named(answer)
}

// naming returns a request that names a file, a cache, or both.
func naming(key, file, cache string) string {
	body := ""
	if cache != "" {
		body = fmt.Sprintf(`"cachedContent":%q,`, cache)
	}
	parts := `{"text":"About it"}`
	if file != "" {
		parts += fmt.Sprintf(`,{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/%s"}}`, file)
	}
	return fmt.Sprintf(`{"key":%q,"request":{%s"contents":[{"parts":[%s]}]}}`, key, body, parts)
}

// TestReferencesLookedUp: a thousand requests that name the same file and cache have each looked up once before each
// round, what is registered in Cloud Storage never, and all is sent [J15].
func TestReferencesLookedUp(t *testing.T) {
	t.Parallel()
	asks := &lookUps{}
	w := newWorld(t, setting{sim: geminisim.Config{Faults: geminisim.Faults{ItemErrors: 0.1}}, transport: asks.through})
	file, cache := w.uploaded("a book"), w.cached(100*time.Hour)
	var lines []string
	for i := range 1000 {
		lines = append(lines, naming(fmt.Sprintf("k%04d", i), file, cache))
	}
	lines[7] = strings.Replace(requestOf("k0007"), `{"text"`, `{"fileData":{"fileUri":"gs://bucket/a"}},{"text"`, 1)
	w.submit(lines, job.Options{MaxAttempts: 3})
	w.drain()
	if asked := asks.taken(); len(asked) != 2 || asked[file] != 1 || asked[cache] != 1 {
		t.Errorf("before the first round: %v", asked)
	}
	w.settle()
	j := w.ended()
	if asked := asks.taken(); j.Round < 2 || len(asked) != 2 || asked[file] != j.Round-1 || asked[cache] != j.Round-1 {
		t.Errorf("in %d rounds: %v", j.Round, asked)
	}
	if j.Counts.Final() != 1000 || j.Counts.Refused > 0 {
		t.Errorf("%+v", j.Counts)
	}
}

// TestReferencesGone: requests that name a file or a cache that has expired end refused without being sent, and each
// says why; the others are sent as if nothing was [J15].
func TestReferencesGone(t *testing.T) {
	t.Parallel()
	asks := &lookUps{}
	w := newWorld(t, setting{transport: asks.through})
	old, cache := w.uploaded("a book"), w.cached(time.Hour)
	w.clock.Advance(48 * time.Hour)
	fresh := w.uploaded("another")
	lines := []string{
		naming("old", old, ""), requestOf("plain"), naming("fresh", fresh, ""), naming("cache", "", cache),
		naming("never", "files/never", ""), naming("both", fresh, cache), requestOf("last"),
	}
	w.submit(lines, job.Options{MaxFailures: "4", MaxRequestsPerBatch: 5})
	if rec := w.settle(); rec.State != operation.Succeeded {
		t.Errorf("%s: %s", rec.State, rec.Result.ErrorMessage)
	}
	j := w.ended()
	if j.Counts != (job.Counts{Done: 3, Refused: 4}) || len(j.Failures) != 4 || j.References.Refused != 4 {
		t.Errorf("%+v, %+v", j.Counts, j.Failures)
	}
	results, _ := w.output(files.Results)
	for _, line := range results {
		name := map[string]string{"old": old, "cache": cache, "both": cache, "never": "files/never"}[line.Key]
		why := "it names " + name + ", which Gemini does not have any more, or not in this project"
		if (name != "") != (line.Outcome == job.OutcomeRefused) || name != "" && (line.Attempts != 0 || line.Why != why) {
			t.Errorf("%+v", line)
		}
		if sent := w.sim.Sent(line.Key); (sent == 0) != (name != "") {
			t.Errorf("%s was sent %d times", line.Key, sent)
		}
	}
	failed, _ := w.output(files.Failed)
	if len(results) != 7 || len(failed) != 4 || failed[0].Request == nil {
		t.Errorf("%d results, %d failed", len(results), len(failed))
	}
	for name, times := range asks.taken() { // one that is gone once more by each part that is refused for it
		if times > map[string]int{old: 2, cache: 3, "files/never": 2, fresh: 1}[name] {
			t.Errorf("%s was looked up %d times", name, times)
		}
	}
}

// TestReferencesHold: a job of which more requests than it tolerates name what is gone sends nothing and is held, with
// an alert. Where the file is there again when it goes on, its requests are sent; else they end refused [J15].
func TestReferencesHold(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{})
			name := w.uploaded("a book")
			w.clock.Advance(48 * time.Hour)
			w.submit([]string{naming("a", name, ""), requestOf("b"), naming("c", name, "")}, job.Options{MaxRequestsPerBatch: 2})
			w.drain()
			w.later(interval)
			w.later(interval)
			j := w.job()
			if j.Hold == nil || j.Hold.Reason != job.HeldByReferences || j.Parts != 2 || len(w.sim.Batches()) > 0 ||
				!strings.HasPrefix(j.Hold.Why, "2 of 3 requests name files or caches that Gemini does not have any more") {
				t.Fatalf("%+v", j.Hold)
			}
			if alerts := w.alerts(); !slices.Equal(alerts, []string{"job-held"}) {
				t.Errorf("%v", alerts)
			}
			if back {
				w.sim.AnswerNext(geminisim.OpFileGet, name, geminisim.Answer{Body: []byte(`{"name":"` + name + `"}`), Times: -1})
			}
			if err := w.ledger.Jobs.Resume(t.Context(), nightly, ledger.Decision{By: "ada", Why: "a test"}); err != nil {
				t.Fatal(err)
			}
			rec := w.settle()
			want := map[bool]job.Counts{false: {Done: 1, Refused: 2}, true: {Done: 3}}[back]
			if w.ended().Counts != want || (rec.State == operation.Succeeded) != back {
				t.Errorf("%s, %+v", rec.State, w.job().Counts)
			}
		})
	}
}

// TestReferencesExpireInARound: what expires while a job waits is looked up again before its next batch [J15].
func TestReferencesExpireInARound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	name := w.uploaded("a book")
	w.submit([]string{naming("a", name, ""), naming("b", name, "")}, job.Options{MaxRequestsPerBatch: 1, MaxBatches: 1})
	w.drain()
	if n := len(w.sim.Batches()); n != 1 {
		t.Fatalf("%d batches", n)
	}
	w.clock.Advance(48 * time.Hour)
	if err := w.sim.SetState(w.sim.Batches()[0].Name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	w.learn()
	w.later(interval)
	if j := w.job(); j.Hold == nil || !strings.HasPrefix(j.Hold.Why, "1 of 2 requests name") || len(w.sim.Batches()) != 1 {
		t.Fatalf("%+v, %d batches", j.Hold, len(w.sim.Batches()))
	}
	if err := w.ledger.Jobs.Resume(t.Context(), nightly, ledger.Decision{By: "ada", Why: "a test"}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	failed, _ := w.output(files.Failed)
	want := "it names " + name + ", which Gemini does not have any more; it was to expire 2026-11-25T20:00:00Z"
	if len(failed) != 1 || failed[0].Key != "b" || failed[0].Why != want {
		t.Errorf("%+v", failed)
	}
}

// TestReferencesUndecided: an answer that says nothing of a file refuses nothing: the step waits, alerts where an
// operator must act, and goes on; what was answered is not asked for again [J15].
func TestReferencesUndecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer geminisim.Answer
		waits  job.Wait
		alerts []string
	}{
		"a failure": {geminisim.ErrorAnswer(503, "later"), job.WaitsForGemini, nil},
		"too many":  {geminisim.ErrorAnswer(429, "slow down"), job.WaitsForQuota, nil},
		"forbidden": {
			geminisim.ErrorAnswer(403, "The caller does not have permission"), job.WaitsForAccess, []string{"job-denied"},
		},
		"a bad key":       {geminisim.ErrorAnswer(400, "API key not valid."), job.WaitsForAccess, []string{"job-denied"}},
		"no such path":    {geminisim.Answer{Status: 404, Body: []byte("<html>")}, job.WaitsForGemini, nil},
		"an empty answer": {geminisim.Answer{Status: 200, Body: []byte("{}")}, job.WaitsForGemini, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{})
			file := w.uploaded("a book")
			for range 3 {
				w.sim.AnswerNext(geminisim.OpFileGet, file, c.answer)
			}
			w.submit([]string{naming("a", file, "")}, job.Options{})
			w.drain()
			if p := w.part(1); p.State != job.Planned || p.Waits != c.waits {
				t.Errorf("%s, waits for %q", p.State, p.Waits)
			}
			if alerts := w.alerts(); !slices.Equal(alerts, c.alerts) {
				t.Errorf("alerts: %v", alerts)
			}
			if rec := w.settle(); rec.State != operation.Succeeded || w.ended().Counts.Done != 1 {
				t.Errorf("%s, %+v", rec.State, w.job().Counts)
			}
		})
	}
}

// TestReferencesGoOn: a job with more references than may be is looked up as far as may be, and an attempt that cannot
// go on leaves what it has to the next one [J15].
func TestReferencesGoOn(t *testing.T) {
	t.Parallel()
	asks := &lookUps{}
	w := newWorld(t, setting{transport: asks.through, options: func(o steps.Options) steps.Options {
		return o.WithReferences(20)
	}})
	var names, lines []string
	for i := range 21 {
		names = append(names, w.uploaded(fmt.Sprint("book ", i)))
		lines = append(lines, naming(fmt.Sprintf("k%04d", i), names[i], ""))
	}
	w.sim.AnswerNext(geminisim.OpFileGet, names[19], geminisim.ErrorAnswer(503, "later"))
	w.submit(lines, job.Options{})
	w.drain()
	first := asks.taken()
	w.settle()
	j, then := w.ended(), asks.taken()
	if j.References.Count != 20 || j.Counts.Done != 21 || first[names[20]]+then[names[20]] > 0 {
		t.Errorf("%+v, %+v", j.References, j.Counts)
	}
	if len(first) < 12 || len(then) > 8 || then[names[0]] > 0 || then[names[19]] != 1 { // 8 are asked for at once
		t.Errorf("%d were looked up first, then %v", len(first), then)
	}
}
