package webhook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const (
	t0 = "2026-01-22T11:50:00Z"
	t1 = "2026-01-22T11:51:00Z"
	t2 = "2026-01-22T11:52:00Z"
)

// TestWithheld: effects that are withheld, because the operation ended before the retention, are
// logged in a line of their own [L3].
func TestWithheld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	w.wantAccepted(w.deliver("m1", event("batch.succeeded", "batches/a", "2026-01-07T12:00:00Z")), "applied", "advanced",
		true)
	lines := w.logged()
	if len(lines) != 2 || lines[1]["event"] != "effect" || lines[1]["outcome"] != "withheld" ||
		lines[1]["effects"] != 1.0 ||
		lines[1]["operation"] != "batches/a" || lines[1]["severity"] != "WARNING" {
		t.Errorf("logged %v", lines)
	}
}

// TestSettledSeconds: the delivery that settles a registered operation logs how long after its submission, and no other
// one does.
func TestSettledSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	w.clock.Advance(90 * time.Second)
	for _, c := range []struct {
		kind, name string
		want       any
	}{
		{"batch.running", "batches/a", nil}, {"batch.succeeded", "batches/a", 90.0}, {"batch.succeeded", "batches/a", nil},
		{"batch.succeeded", "batches/never-registered", nil},
	} {
		w.deliver("m"+c.kind+c.name, event(c.kind, c.name, t1))
		w.wantLog(map[string]any{"settled_seconds": c.want})
	}
}

// TestOutcomes: every outcome of an accepted delivery is answered 200, because an error would only
// bring the same delivery back [M8, W4, W5, W6].
func TestOutcomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	steps := []struct {
		name, id, body  string
		outcome, reason string
		registered      bool
	}{
		{"progress", "m1", event("batch.running", "batches/a", t1), "applied", "advanced", true},
		{"older progress", "m2", event("batch.running", "batches/a", t0), "dropped", "stale-or-equal-update-time", true},
		{"same time", "m3", event("batch.running", "batches/a", t1), "dropped", "stale-or-equal-update-time", true},
		{"newer progress", "m4", event("batch.running", "batches/a", t2), "applied", "refreshed", true},
		{"lower rank", "m5", event("batch.pending", "batches/a", t2), "dropped", "lower-rank", true},
		{"the end", "m6", event("batch.succeeded", "batches/a", t1), "applied", "advanced", true},
		{"the same delivery", "m6", event("batch.succeeded", "batches/a", t1), "duplicate", "", true},
		{"the same end again", "m7", event("batch.succeeded", "batches/a", t1), "dropped", "stale-or-equal-update-time",
			true},
		{"late progress [M3]", "m8", event("batch.running", "batches/a", t2), "dropped", "regress-from-terminal", true},
		{"another end [M5]", "m9", event("batch.failed", "batches/a", t2), "conflict", "terminal-conflict", true},
		{"that again", "m9", event("batch.failed", "batches/a", t2), "duplicate", "", true},
		{"a bare id [K2]", "m10", event("batch.succeeded", "a", t0), "dropped", "stale-or-equal-update-time", true},
		{"another form [K1]", "m11", event("batch.succeeded", "projects/p/locations/us/batches/a/", t0), "dropped",
			"stale-or-equal-update-time", true},
		{"never registered [W5]", "m12", event("batch.succeeded", "batches/b", t1), "applied", "advanced", false},
		{"a type of tomorrow [W6]", "m13", event("batch.archived", "batches/a", t1), "ignored", "unknown-type", false},
		{"that again", "m13", event("batch.archived", "batches/a", t1), "duplicate", "unknown-type", false},
		{"a ping [W6]", "m14", `{"type":"webhook.ping"}`, "ignored", "unknown-type", false},
		{"not JSON [W6]", "m15", `{"type":`, "quarantined", "malformed", false},
		{"that again", "m15", `{"type":`, "duplicate", "malformed", false},
		{"no name [K3]", "m16", `{"type":"batch.succeeded","data":{"output_file_uri":"files/x"}}`, "quarantined",
			"malformed", false},
	}
	for _, s := range steps {
		r := w.deliver(s.id, s.body)
		if r.Status != http.StatusOK || r.Body.Outcome != s.outcome || r.Body.Reason != s.reason ||
			r.Body.Registered != s.registered {
			t.Errorf("%s: %d %+v, want 200 %s %s registered=%t", s.name, r.Status, r.Body, s.outcome, s.reason, s.registered)
		}
		kind, severity := "ingest", "INFO"
		if s.outcome == "quarantined" {
			severity = "WARNING"
		}
		if s.outcome == "quarantined" || s.outcome == "ignored" || s.outcome == "duplicate" && s.reason != "" {
			kind = "quarantine"
		}
		w.wantLog(map[string]any{
			"event": kind, "delivery": s.id, "outcome": s.outcome, "reason": s.reason, "source": "webhook",
			"registered": s.registered, "severity": severity, "announced": s.name == "the end",
		})
	}
	story := w.show("batches/a")
	if story.Record.State != "SUCCEEDED" || story.Record.SettledBy != "webhook" {
		t.Errorf("the record is %+v", story.Record)
	}
	if diff := cmp.Diff([]ledger.Message{{Operation: "batches/a", Effect: "publish", Attempt: 1}},
		w.outbox.All()); diff != "" {
		t.Errorf("published, -want +got\n%s", diff)
	}
	if len(story.Deliveries) != 11 {
		t.Errorf("%d deliveries are recorded, want 11: %+v", len(story.Deliveries), story.Deliveries)
	}
}

// TestCanary: a delivery about what a canary made up is logged under an event of its own, which no
// signal counts. One about an operation that was registered is an operation's, whatever its name.
func TestCanary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const name = "batches/" + operation.CanaryPrefix + "1"
	for i, kind := range []string{"canary", "ingest"} {
		if kind == "ingest" {
			w.register(name)
		}
		w.deliver(fmt.Sprint("m", i), event("batch.running", name, t1))
		w.wantLog(map[string]any{"event": kind, "registered": kind == "ingest"})
	}
}

// TestRepeats: a delivery's second arrival writes nothing, whatever the first one led to [W4].
func TestRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	deliveries := map[string]string{
		"applied":     event("batch.succeeded", "batches/a", t1),
		"dropped":     event("batch.running", "batches/a", t1),
		"conflict":    event("batch.failed", "batches/a", t1),
		"strange":     event("batch.succeeded", "batches/z", t1),
		"ignored":     `{"type":"ping"}`,
		"quarantined": "}",
	}
	for _, id := range []string{"applied", "dropped", "conflict", "strange", "ignored", "quarantined"} {
		if r := w.deliver(id, deliveries[id]); r.Status != http.StatusOK {
			t.Fatalf("%s: %d", id, r.Status)
		}
	}
	w.clock.Set(w.clock.Now().Add(20 * time.Hour)) // the sender refreshes the timestamp
	for id, body := range deliveries {
		w.unwritten(func() {
			if r := w.deliver(id, body); r.Status != http.StatusOK || r.Body.Outcome != "duplicate" {
				t.Errorf("%s again: %d %+v, want 200 duplicate", id, r.Status, r.Body)
			}
		})
	}
}

// TestSimultaneous: the same delivery at two instances at once is ingested once, and its effect
// planned once [W4, S3].
func TestSimultaneous(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	body := event("batch.succeeded", "batches/a", t1)
	const n = 12
	var group sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for range n {
		group.Go(func() {
			r := w.deliver("same", body)
			mu.Lock()
			defer mu.Unlock()
			outcomes[fmt.Sprint(r.Status, r.Body.Outcome)]++
		})
	}
	group.Wait()
	if want := map[string]int{"200applied": 1, "200duplicate": n - 1}; !cmp.Equal(want, outcomes) {
		t.Errorf("outcomes %v, want %v", outcomes, want)
	}
	if sent := w.outbox.All(); len(sent) != 1 {
		t.Errorf("%d effects were published", len(sent))
	}
}

// TestRegisteredLater: what a delivery reported before its operation was registered is kept, and
// the registration plans the effect [W5].
func TestRegisteredLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.wantAccepted(w.deliver("m1", event("batch.succeeded", "batches/a", t1)), "applied", "advanced", false)
	if story := w.show("batches/a"); len(story.Effects) != 0 || story.Record.Registered || len(w.outbox.All()) != 0 {
		t.Errorf("an effect of an unregistered operation: %+v", story)
	}
	w.register("batches/a")
	if story := w.show("batches/a"); len(story.Effects) != 1 || story.Record.State != "SUCCEEDED" ||
		len(w.outbox.All()) != 1 {
		t.Errorf("registered later: %+v", story)
	}
}

// TestCorrelation: an event under an unregistered name finds its operation by the submitter's
// correlation id [K6].
func TestCorrelation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	registration := ledger.Registration{Submission: operation.Submission{CorrelationID: "job-7"}}
	registration.Name.Key, registration.Name.Resource = "batches/a", "batches/a"
	if _, err := w.ledger.Operations.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	body := `{"type":"batch.succeeded","timestamp":"` + t1 +
		`","data":{"id":"something-else","user_metadata":{"opledger_correlation_id":"job-7"}}}`
	w.wantAccepted(w.deliver("m1", body), "applied", "advanced", true)
	if state := w.show("batches/a").Record.State; state != "SUCCEEDED" {
		t.Errorf("state %s", state)
	}
}

// TestQueueDown: a completion is accepted although its effect cannot be published: the effect waits
// for the sweep [W3].
func TestQueueDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	w.outbox.Fail(errors.New("the queue is down"))
	w.wantAccepted(w.deliver("m1", event("batch.succeeded", "batches/a", t1)), "applied", "advanced", true)
	all := w.logged()
	if len(all) != 2 || all[1]["event"] != "effect" || all[1]["outcome"] != "unpublished" ||
		all[1]["operation"] != "batches/a" {
		t.Errorf("logged %v", all)
	}
	if effects := w.show("batches/a").Effects; len(effects) != 1 || effects[0].DueAt.After(w.clock.Now()) {
		t.Errorf("the sweep would not find %+v", effects)
	}
}

// TestDurable: when the answer is written, another process reads the decision from the store [W3].
func TestDurable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	w.wantAccepted(w.deliver("m1", event("batch.failed", "batches/a", t1)), "applied", "advanced", true)
	stored := w.stored()
	var record struct{ State string }
	_, body, _ := strings.Cut(stored["operations/batches:a"], " ")
	if err := json.Unmarshal([]byte(body), &record); err != nil || record.State != "FAILED" {
		t.Errorf("record %s: %v", body, err)
	}
	for _, path := range []string{"operations/batches:a/deliveries/m1", "operations/batches:a/effects/alarm"} {
		if stored[path] == "" {
			t.Errorf("%s is not stored", path)
		}
	}
}
