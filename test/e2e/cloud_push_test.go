package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// A pushDoor stands where Pub/Sub pushes to, passes everything on and remembers what was answered.
type pushDoor struct {
	t      *testing.T
	target string

	mu      sync.Mutex
	answers map[string][]pushAnswer // by message id
}

type pushAnswer struct {
	data   string
	status int
	at     time.Time
}

func (d *pushDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var pushed struct {
		Message struct {
			ID   string `json:"messageId"`
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err == nil {
		err = json.Unmarshal(body, &pushed)
	}
	if err != nil {
		d.t.Errorf("Pub/Sub pushed %s: %v", body, err)
	}
	status, _, _, err := send(http.MethodPost, d.target, body, r.Header)
	if err != nil {
		status = http.StatusBadGateway // the process has been ended
	}
	d.mu.Lock()
	d.answers[pushed.Message.ID] = append(d.answers[pushed.Message.ID],
		pushAnswer{string(pushed.Message.Data), status, time.Now()})
	d.mu.Unlock()
	w.WriteHeader(status)
}

// of returns what the deliveries of each message with that data were answered.
func (d *pushDoor) of(data string) (messages [][]pushAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, answers := range d.answers {
		if answers[0].data == data {
			messages = append(messages, slices.Clone(answers))
		}
	}
	return messages
}

func (d *pushDoor) count(data string) (n int) {
	for _, message := range d.of(data) {
		n += len(message)
	}
	return n
}

func message(operation string) string {
	return fmt.Sprintf(`{"operation":%q,"effect":"publish"}`, operation)
}

// A target is at the other end of the http effects here.
type target struct {
	mu            sync.Mutex
	failed        bool
	held, release chan struct{}
	accepted      []string
}

func (s *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	first := !s.failed
	s.failed = s.failed || key == "gemini:batches/fails#publish"
	s.mu.Unlock()
	switch {
	case key == "gemini:batches/fails#publish" && first:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case key == "gemini:batches/refused#publish":
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case key == "gemini:batches/held#publish":
		close(s.held)
		<-s.release
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = append(s.accepted, key)
}

// TestCloudPush: a real push subscription drives Effects, behind the functions framework and in
// `serve`. What was done, or skipped, or is held by another, is over for Pub/Sub, and so is what failed:
// it is tried again by the process itself until it is done; what is malformed is refused until the
// dead-letter topic takes it [G5, K1, S1, S2, S4, S9, S10].
func TestCloudPush(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"Effects", "serve"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			testCloudPush(t, server == "serve")
		})
	}
}

func testCloudPush(t *testing.T, serve bool) {
	c := newCloud(t)
	sink := &target{held: make(chan struct{}), release: make(chan struct{})}
	sinkServer := httptest.NewServer(sink)
	t.Cleanup(sinkServer.Close) // after the process, which may have a connection open
	f := newFleet(t, c.backend, 0, geminisim.Config{Speed: 1000})
	variables := append(f.variables("x"), "OPLEDGER_CLAIM_TTL=10m", "OPLEDGER_INTERVAL=1h",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, do: http, url: %q, on: [SUCCEEDED]}]", sinkServer.URL))
	door := &pushDoor{t: t, answers: map[string][]pushAnswer{}}
	if serve {
		p, err := startProcess(t, "x", variables, "--schedule=false")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.kill() })
		<-p.ready
		door.target = p.url() + "/effects"
	} else {
		door.target = serveFunction(t, "Effects", variables...).url() + "/" + c.topic(topicID)
	}
	front := httptest.NewServer(door)
	t.Cleanup(front.Close)
	c.createTopic("dead")
	c.subscribe(&pubsubpb.Subscription{Name: c.subscription("dead"), Topic: c.topic("dead")})
	c.push(front.URL, "dead")
	f.plan("batches/plain", "batches/fails", "batches/refused", "batches/held")

	malformed := `{"operation":"batches/plain"}`
	c.publish(malformed)
	for _, operation := range []string{
		"batches/plain", "batches/absent", "batches/refused", "batches/fails", "batches/held",
	} {
		c.publish(message(operation))
	}
	<-sink.held
	again := message("projects/p/locations/l/batches/held/")
	c.publish(again)
	eventually(t, "the one that is held is answered", func() bool { return door.count(again) > 0 })
	close(sink.release)
	eventually(t, "the plain one is done", func() bool { return door.count(message("batches/plain")) > 0 })
	repeat := message("https://generativelanguage.googleapis.com/v1beta/batches/plain")
	c.publish(repeat)

	dead := c.pull("dead")
	if string(dead.Data) != malformed || dead.Attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "" {
		t.Errorf("the dead-letter topic got %s with %v", dead.Data, dead.Attributes)
	}
	// That took several times the longest back-off of the retry policy, so whatever was to come again has come.
	for _, data := range []string{
		message("batches/plain"), repeat, message("batches/absent"), message("batches/refused"),
		message("batches/held"), again,
		message("batches/fails"),
	} {
		if got := door.of(data); len(got) != 1 || len(got[0]) != 1 || got[0][0].status/100 != 2 {
			t.Errorf("%s was answered %+v, want one 2xx", data, got)
		}
	}
	for _, message := range door.of(malformed) {
		for _, answer := range message {
			if answer.status != http.StatusBadRequest || len(message) < 5 {
				t.Errorf("the malformed message was answered %+v, want 400 five times", message)
			}
		}
	}
	accepted := func() []string {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return slices.Sorted(slices.Values(sink.accepted))
	}
	want := []string{"gemini:batches/fails#publish", "gemini:batches/held#publish", "gemini:batches/plain#publish"}
	eventually(t, "the failed one is done", func() bool { return len(accepted()) == len(want) })
	if got := accepted(); !sink.failed || !slices.Equal(got, want) {
		t.Errorf("it failed first: %v; the target accepted %q, want %q", sink.failed, got, want)
	}
}

// TestCloudEventsFromEventarc: a deployed trigger may be Eventarc's, which sends CloudEvents; they are accepted in both
// encodings and come to the same as what Pub/Sub pushes.
func TestCloudEventsFromEventarc(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	f := newFleet(t, c.backend, 0, geminisim.Config{Speed: 1000})
	f.plan("batches/binary", "batches/structured")
	p := serveFunction(t, "Effects",
		append(c.variables(), "OPLEDGER_EFFECTS=[{name: publish, do: log, on: [SUCCEEDED]}]")...)
	const kind = "google.cloud.pubsub.topic.v1.messagePublished"
	binary := http.Header{
		"Ce-Id": {"1"}, "Ce-Specversion": {"1.0"}, "Ce-Type": {kind},
		"Ce-Source":    {"//pubsub.googleapis.com/" + c.topic(topicID)},
		"Content-Type": {"application/json"},
	}
	asEvent := http.Header{"Content-Type": {"application/cloudevents+json"}}
	structured := func(data string) string {
		return fmt.Sprintf(`{"id":"1","specversion":"1.0","type":%q,"source":"//pubsub.googleapis.com/x",`+
			`"datacontenttype":"application/json","data":%s}`, kind, data)
	}
	for _, e := range []struct {
		what, body string
		header     http.Header
		status     int
	}{
		{"binary", push("batches/binary", "publish"), binary, 200},
		{"structured", structured(push("batches/structured", "publish")), asEvent, 200},
		{"malformed", structured(push("batches/structured", "")), asEvent, 400},
		{"an effect that this revision does not know", push("batches/binary", "other"), binary, 200}, // nor does the ledger
	} {
		status, answer, _, err := send(http.MethodPost, p.url(), []byte(e.body), e.header)
		if err != nil || status != e.status {
			t.Errorf("%s: %d %s %v, want %d", e.what, status, bytes.TrimSpace(answer), err, e.status)
		}
	}
	p.kill()
	for _, operation := range []string{"batches/binary", "batches/structured"} {
		if got := strings.Join(p.about(operation), " "); !strings.Contains(got, "finished") {
			t.Errorf("%s: %q", operation, got)
		}
	}
}
