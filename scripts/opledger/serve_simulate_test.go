package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"
)

// simulate runs serve --simulate. The variables of a real Gemini and a real ledger are set.
func simulate(t *testing.T, variables []string, args ...string) served {
	t.Helper()
	return serving(t, append([]string{"GEMINI_API_KEY=real", "GOOGLE_GEMINI_BASE_URL=https://gemini.example",
		"OPLEDGER_STORE=firestore", "GOOGLE_CLOUD_PROJECT=real", "OPLEDGER_TOPIC=real"}, variables...),
		append([]string{"--simulate", "--speed", "1000"}, args...)...)
}

// exports returns the file that holds what to export.
func (s served) exports() string {
	s.t.Helper()
	for _, line := range s.lines {
		if file, ok := strings.CutPrefix(line, "  . "); ok {
			return strings.Trim(file, "'")
		}
	}
	s.t.Fatalf("no file is named: %q", s.lines)
	return ""
}

// environ returns the variables of a shell that has read the file. Before, it had those of a real
// deployment.
func (s served) environ() []string {
	s.t.Helper()
	shell := exec.CommandContext(s.t.Context(), "/bin/sh", "-ec", ". "+s.exports()+"; env")
	for _, name := range replaced() {
		shell.Env = append(shell.Env, name+"=real")
	}
	out, err := shell.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// variable returns one of environ.
func (s served) variable(name string) string {
	s.t.Helper()
	for _, v := range s.environ() {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	s.t.Fatalf("%s is not exported", name)
	return ""
}

// client is the SDK's own, pointed at the simulator as the lines on stdout say.
func (s served) client() *genai.Client {
	s.t.Helper()
	client, err := genai.NewClient(s.t.Context(), &genai.ClientConfig{
		APIKey: s.variable("GEMINI_API_KEY"), Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: s.variable("GOOGLE_GEMINI_BASE_URL")},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// register registers an operation over HTTP, as programs in other languages do.
func (s served) register(name string) {
	s.t.Helper()
	answer, err := http.Post(s.variable("OPLEDGER_URL")+"/register", "application/json",
		strings.NewReader(`{"name":"`+name+`"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode/100 != 2 {
		s.t.Errorf("registering %s: %s %v", name, answer.Status, err)
	}
}

// An arrival is an effect at the developer's own server.
type arrival struct {
	header http.Header
	body   []byte
}

// arrivals returns a server that hands over what is posted to it.
func arrivals(t *testing.T) (url string, arrived <-chan arrival) {
	t.Helper()
	all := make(chan arrival, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			all <- arrival{r.Header, body}
		}
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL + "/hook", all
}

// next waits for an arrival.
func next(t *testing.T, arrived <-chan arrival) arrival {
	t.Helper()
	select {
	case a := <-arrived:
		return a
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing arrives")
		return arrival{}
	}
}

func reviews() *genai.BatchJobSource {
	var requests []*genai.InlinedRequest
	for _, key := range []string{"review-1", "review-2"} {
		requests = append(requests, &genai.InlinedRequest{
			Contents: genai.Text("Classify " + key), Metadata: map[string]string{"key": key},
		})
	}
	return &genai.BatchJobSource{InlinedRequests: requests}
}

// TestSimulateForward: a batch, a video and an interaction that Gemini's SDK submits to the
// simulator end, and each is posted once to a server of one's own, signed with the secret that was
// printed.
func TestSimulateForward(t *testing.T) {
	t.Parallel()
	url, arrived := arrivals(t)
	s := simulate(t, nil, "--forward-to", url)
	gemini := s.client()
	want := map[string]bool{}
	batch, err := gemini.Batches.Create(t.Context(), "gemini-3.5-flash", reviews(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.register(batch.Name)
	want[batch.Name] = true
	video, err := gemini.Models.GenerateVideosFromSource(t.Context(), "veo-3.1-generate-preview",
		&genai.GenerateVideosSource{Prompt: "a cat on a train"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.register(video.Name)
	want["operations/"+video.Name[strings.LastIndex(video.Name, "/")+1:]] = true
	input, background := interactions.NewInteractionsInput("Summarise the reviews"), true
	interaction, err := gemini.Interactions.Create(t.Context(), operations.CreateInteractionRequest{
		Body: operations.NewCreateInteractionRequestBody(
			interactions.CreateModelInteraction{Model: "gemini-3.5-flash", Input: &input, Background: &background}),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.register("interactions/" + *interaction.Interaction.ID)
	want["interactions/"+*interaction.Interaction.ID] = true

	key, err := standardwebhooks.NewWebhook(s.variable("OPLEDGER_EFFECT_SECRET"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		a := next(t, arrived)
		var payload struct{ Operation, State string }
		if err := key.Verify(a.body, a.header); err != nil {
			t.Errorf("%s: %v", a.body, err)
		}
		if err := json.Unmarshal(a.body, &payload); err != nil || !want[payload.Operation] || payload.State != "SUCCEEDED" ||
			a.header.Get("Idempotency-Key") != "gemini:"+payload.Operation+"#forward" {
			t.Errorf("%s, want one of %v: %v", a.body, want, err)
		}
		delete(want, payload.Operation)
	}
	if log := s.stop(); !strings.Contains(log, "opledger: --simulate leaves out GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL, "+
		"OPLEDGER_STORE, OPLEDGER_TOPIC\n") {
		t.Errorf("it does not say what it leaves out: %s", log)
	}
}

// TestSimulateItems: an effect of one's own runs once per item, with the results of the simulated
// batch; the commands of opledger work with what is exported. Only a ledger that was named is left.
func TestSimulateItems(t *testing.T) {
	t.Parallel()
	url, arrived := arrivals(t)
	f := newFile(t)
	s := simulate(t, []string{"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		`OPLEDGER_EFFECTS=[{name: store, on: [SUCCEEDED], do: http, each: item, url: "` + url + `"}]`}, "--store", f.store())
	requests := newFile(t).path
	text := `{"key":"review-1","request":{"contents":[{"parts":[{"text":"a"}]}]}}` + "\n" +
		`{"key":"review-2","request":{"contents":[{"parts":[{"text":"b"}]}]}}`
	if err := os.WriteFile(requests, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var submitted struct{ Operation string }
	oneObject(t, cli(t, s.environ(), "submit", "batch", "--model", "gemini-3.5-flash", "--requests", requests,
		"--json").want(t, exitDone).out, &submitted)
	var keys []string
	for range 2 {
		a := next(t, arrived)
		keys = append(keys, a.header.Get("Idempotency-Key"))
		if !regexp.MustCompile(`"Result \d of batches/`).Match(a.body) {
			t.Errorf("an item without its result: %s", a.body)
		}
	}
	slices.Sort(keys)
	for i, end := range []string{"#store/items/review-1", "#store/items/review-2"} {
		if !strings.HasSuffix(keys[i], end) {
			t.Errorf("%q, want one that ends with %q", keys, end)
		}
	}
	if all := strings.Join(s.environ(), "\n") + "\n"; strings.Contains(all, "=real\n") {
		t.Errorf("a terminal keeps what is real: %s", all)
	}
	file, store := s.exports(), s.variable("OPLEDGER_STORE")
	if log := s.stop(); !strings.Contains(log, "opledger: the effects of OPLEDGER_EFFECTS run for real: store; ") {
		t.Errorf("it does not say what it runs for real: %s", log)
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) || store != f.store() {
		t.Errorf("%s is left (%v), and the ledger is in %s", file, err, store)
	}
	shown := cli(t, nil, "show", submitted.Operation, "--store", f.store()).want(t, exitDone)
	if !strings.Contains(shown.out, "SUCCEEDED") {
		t.Error(shown.out)
	}
}

// TestSimulateStatus: a pass sees the webhook of the simulated Gemini, and status says that it is enabled.
func TestSimulateStatus(t *testing.T) {
	t.Parallel()
	s := simulate(t, nil)
	s.wantStatus(http.StatusOK, http.MethodPost, s.variable("OPLEDGER_URL")+"/reconcile")
	got := cli(t, s.environ(), "status").want(t, exitDone)
	if !regexp.MustCompile(`\nwebhook +enabled\n`).MatchString(got.out) {
		t.Error(got.out)
	}
}
