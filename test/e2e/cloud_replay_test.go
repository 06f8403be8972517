package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A strictTarget is at the other end of the http effects here. It takes each idempotency key once,
// and refuses operations for good until it is told otherwise.
type strictTarget struct {
	mu       sync.Mutex
	refuses  map[string]bool   // by operation
	attempts map[string]int    // by key
	accepted map[string]string // bodies, by key
	repeats  []string
}

func (s *strictTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[key]++
	operation, _, _ := strings.Cut(strings.TrimPrefix(key, "gemini:"), "#")
	_, known := s.accepted[key]
	switch {
	case err != nil || s.refuses[operation]:
		w.WriteHeader(http.StatusUnprocessableEntity)
	case known:
		s.repeats = append(s.repeats, key)
	default:
		s.accepted[key] = string(body)
	}
}

func (s *strictTarget) accept(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses[operation] = false
}

func (s *strictTarget) tried(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts[key]
}

// body returns what was accepted with a key, and how many repeats were refused.
func (s *strictTarget) body(key string) (body string, repeats int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[key], len(s.repeats)
}

// A forgetfulDoor stands where Pub/Sub pushes to, and loses the first answer of every message: each
// is delivered again although it was handled.
type forgetfulDoor struct {
	pushDoor
	seen map[string]int
}

func (d *forgetfulDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	d.pushDoor.ServeHTTP(recorder, r)
	var pushed struct {
		Message struct {
			ID string `json:"messageId"`
		} `json:"message"`
	}
	_ = json.Unmarshal(body, &pushed) // pushDoor has complained
	d.mu.Lock()
	d.seen[pushed.Message.ID]++
	first := d.seen[pushed.Message.ID] == 1
	d.mu.Unlock()
	if first {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(recorder.Code)
}

// TestCloudReplay: through a real push subscription that delivers every message twice, what a
// person publishes by hand, with exactly the text of functions/effects/README.md, reopens what is dead, once per
// message; what is done is skipped, and with "rerun" rerun as a run of its own that no receiver
// swallows as a repeat [G5, K4, S2]. `opledger replay` publishes the same.
func TestCloudReplay(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	refuses := map[string]bool{"batches/abc": true, "batches/never": true, "batches/x": true, "batches/y": true}
	sink := &strictTarget{refuses: refuses, attempts: map[string]int{}, accepted: map[string]string{}}
	sinkServer := httptest.NewServer(sink)
	t.Cleanup(sinkServer.Close)
	f := newFleet(t, c.backend, 0, geminisim.Config{Speed: 1000})
	variables := append(c.variables(), "OPLEDGER_CLAIM_TTL=10m", "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, do: http, url: %q, on: [SUCCEEDED]}]", sinkServer.URL))
	door := &forgetfulDoor{pushDoor: pushDoor{t: t, answers: map[string][]pushAnswer{}}, seen: map[string]int{}}
	door.target = serveFunction(t, "Effects", variables...).url() + "/" + c.topic(topicID)
	front := httptest.NewServer(door)
	t.Cleanup(front.Close)
	c.push(front.URL, "")
	f.plan("batches/abc", "batches/never", "batches/x", "batches/y")
	// told publishes a message, and waits until it is over for Pub/Sub: until its second delivery was answered.
	told := func(data string) {
		t.Helper()
		before := door.count(data)
		c.publish(data)
		eventually(t, data+" is answered twice", func() bool { return door.count(data) >= before+2 })
	}
	const byHand = `{"operation":"batches/abc","effect":"publish"}`

	told(byHand)
	if e := c.effect("batches/abc", "publish"); e.State != ledger.EffectDead || e.Fence != 1 {
		t.Fatalf("it should have died: %+v", e)
	}
	told(byHand)
	if e := c.effect("batches/abc", "publish"); e.State != ledger.EffectDead || e.Fence != 2 || e.Attempts != 1 {
		t.Errorf("reopened once, by the first of two deliveries: %+v", e)
	}
	sink.accept("batches/abc")
	told(byHand)
	first := c.effect("batches/abc", "publish")
	if first.State != ledger.EffectDone || first.Fence != 3 {
		t.Errorf("reopened and done: %+v", first)
	}
	told(byHand)
	const rerun = `{"operation":"batches/abc","effect":"publish","rerun":"fix-1"}`
	told(rerun)
	told(rerun)
	told(`{"operation":"projects/p/locations/us/batches/abc/","effect":"publish","rerun":"fix-2","by":"ops"}`)
	if n := sink.tried("gemini:batches/abc#publish"); n != 3 {
		t.Errorf("%d attempts at the first run, want 3", n)
	}
	for _, run := range []string{"fix-1", "fix-2"} {
		key := "gemini:batches/abc#publish@" + run
		if e := c.effect("batches/abc", "publish@"+run); e.State != ledger.EffectDone || e.Fence != 1 ||
			sink.tried(key) != 1 {
			t.Errorf("%s: %d attempts, %+v", run, sink.tried(key), e)
		}
		history, _ := sink.body("gemini:batches/abc#publish")
		if body, repeats := sink.body(key); strings.Replace(body, key, "gemini:batches/abc#publish", 1) != history ||
			repeats > 0 {
			t.Errorf("%s: more than the key is different, or the receiver refused %d repeats: %s", run, repeats, body)
		}
	}
	if e := c.effect("batches/abc", "publish"); e.State != ledger.EffectDone || !e.DoneAt.Equal(first.DoneAt) {
		t.Errorf("the first run is history: %+v", e)
	}

	// The command. Operations that stay dead are reopened once by each message, too.
	for _, name := range []string{"batches/never", "batches/x", "batches/y"} {
		told(message(name))
	}
	dry := opledger(t, variables, "replay", "--dead", "--dry-run")
	if want := "would run 3 effects of 3 operations again; nothing was published\n"; dry.code != 0 ||
		!strings.HasSuffix(dry.out, want) {
		t.Errorf("%+v", dry)
	}
	if unasked := opledger(t, variables, "replay", "--dead"); unasked.code != 1 ||
		!strings.Contains(unasked.err, "Run 3 effects of 3 operations again?") {
		t.Errorf("%+v", unasked)
	}
	sink.accept("batches/x")
	sink.accept("batches/y")
	if ran := opledger(t, variables, "replay", "--dead", "--yes", "--by", "ops"); ran.code != 1 ||
		!strings.HasSuffix(ran.out, "published 3 messages for 3 effects of 3 operations\n2 done, 1 dead again\n") {
		t.Errorf("%+v", ran)
	}
	for _, name := range []string{"batches/never", "batches/x", "batches/y"} {
		data := fmt.Sprintf(`{"operation":%q,"effect":"publish","by":"ops"}`, name)
		eventually(t, data+" is answered twice", func() bool { return door.count(data) >= 2 })
		want := map[bool]ledger.EffectState{true: ledger.EffectDead, false: ledger.EffectDone}[name == "batches/never"]
		e := c.effect(operation.Key(name), "publish")
		asked := slices.ContainsFunc(e.Replays, func(r ledger.Replay) bool { return r.By == "ops" })
		if e.State != want || e.Fence != 2 || !asked || sink.tried("gemini:"+name+"#publish") != 2 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if once := opledger(t, variables, "replay", "batches/x", "--rerun=fix-1", "--json", "--yes"); once.code != 0 ||
		!strings.Contains(once.out, `"published": 1`) || !strings.Contains(once.out, `"done": 1`) ||
		c.effect("batches/x", "publish@fix-1").State != ledger.EffectDone {
		t.Errorf("%+v", once)
	}
}

// effect reads an effect; the zero Effect where there is none.
func (c *cloud) effect(key operation.Key, name string) (effect ledger.Effect) {
	c.t.Helper()
	snapshot, err := c.backend.store().Get(c.t.Context(), ledger.EffectPath(key, name))
	if err == nil {
		err = snapshot.Documents[0].Decode(&effect)
	}
	if err != nil {
		c.t.Error(err)
	}
	return effect
}
