package serve_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
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

	"github.com/opledger/opledger/scripts/opledger/serve"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// simulate runs serve --simulate. The variables of a real Gemini and a real ledger are set.
func simulate(t *testing.T, variables []string, args ...string) commandtest.Served {
	t.Helper()
	return commandtest.Serving(t, append([]string{"GEMINI_API_KEY=real", "GOOGLE_GEMINI_BASE_URL=https://gemini.example",
		"OPLEDGER_STORE=firestore", "GOOGLE_CLOUD_PROJECT=real", "OPLEDGER_TOPIC=real"}, variables...),
		append([]string{"--simulate", "--speed", "1000"}, args...)...)
}

// exports returns the file that holds what to export.
func exports(s commandtest.Served) string {
	s.T.Helper()
	for _, line := range s.Lines {
		if file, ok := strings.CutPrefix(line, "  . "); ok {
			return strings.Trim(file, "'")
		}
	}
	s.T.Fatalf("no file is named: %q", s.Lines)
	return ""
}

// environ returns the variables of a shell that has read the file. Before, it had those of a real
// deployment.
func environ(s commandtest.Served) []string {
	s.T.Helper()
	shell := exec.CommandContext(s.T.Context(), "/bin/sh", "-ec", ". "+exports(s)+"; env")
	for _, name := range serve.Replaced() {
		shell.Env = append(shell.Env, name+"=real")
	}
	out, err := shell.Output()
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// variable returns one of environ.
func variable(s commandtest.Served, name string) string {
	s.T.Helper()
	for _, v := range environ(s) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	s.T.Fatalf("%s is not exported", name)
	return ""
}

// client is the SDK's own, pointed at the simulator as the lines on stdout say.
func client(s commandtest.Served) *genai.Client {
	s.T.Helper()
	client, err := genai.NewClient(s.T.Context(), &genai.ClientConfig{
		APIKey: variable(s, "GEMINI_API_KEY"), Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: variable(s, "GOOGLE_GEMINI_BASE_URL")},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return client
}

// registerAt registers an operation over HTTP, as programs in other languages do.
func registerAt(s commandtest.Served, name string) {
	s.T.Helper()
	answer, err := http.Post(variable(s, "OPLEDGER_URL")+"/register", "application/json",
		strings.NewReader(`{"name":"`+name+`"}`))
	if err != nil {
		s.T.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode/100 != 2 {
		s.T.Errorf("registering %s: %s %v", name, answer.Status, err)
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
	gemini := client(s)
	want := map[string]bool{}
	batch, err := gemini.Batches.Create(t.Context(), "gemini-3.5-flash", reviews(), nil)
	if err != nil {
		t.Fatal(err)
	}
	registerAt(s, batch.Name)
	want[batch.Name] = true
	video, err := gemini.Models.GenerateVideosFromSource(t.Context(), "veo-3.1-generate-preview",
		&genai.GenerateVideosSource{Prompt: "a cat on a train"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	registerAt(s, video.Name)
	want["operations/"+video.Name[strings.LastIndex(video.Name, "/")+1:]] = true
	input, background := interactions.NewInteractionsInput("Summarise the reviews"), true
	interaction, err := gemini.Interactions.Create(t.Context(), operations.CreateInteractionRequest{
		Body: operations.NewCreateInteractionRequestBody(
			interactions.CreateModelInteraction{Model: "gemini-3.5-flash", Input: &input, Background: &background}),
	})
	if err != nil {
		t.Fatal(err)
	}
	registerAt(s, "interactions/"+*interaction.Interaction.ID)
	want["interactions/"+*interaction.Interaction.ID] = true

	key, err := standardwebhooks.NewWebhook(variable(s, "OPLEDGER_EFFECT_SECRET"))
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
	if log := s.Stop(); !strings.Contains(log, "opledger: --simulate leaves out GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL, "+
		"OPLEDGER_STORE, OPLEDGER_TOPIC\n") {
		t.Errorf("it does not say what it leaves out: %s", log)
	}
}

// TestSimulateItems: an effect of one's own runs once per item, with the results of the simulated
// batch; the commands of opledger work with what is exported. Only a ledger that was named is left.
func TestSimulateItems(t *testing.T) {
	t.Parallel()
	url, arrived := arrivals(t)
	f := commandtest.NewFile(t)
	s := simulate(t, []string{"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		`OPLEDGER_EFFECTS=[{name: store, on: [SUCCEEDED], do: http, each: item, url: "` + url + `"}]`}, "--store", f.Store())
	requests := commandtest.NewFile(t).Path
	text := `{"key":"review-1","request":{"contents":[{"parts":[{"text":"a"}]}]}}` + "\n" +
		`{"key":"review-2","request":{"contents":[{"parts":[{"text":"b"}]}]}}`
	if err := os.WriteFile(requests, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var submitted struct{ Operation string }
	commandtest.OneObject(t, commandtest.Run(t, environ(s), "submit", "batch", "--model", "gemini-3.5-flash",
		"--requests", requests,
		"--json").Want(t, terminal.ExitDone).Out, &submitted)
	var keys []string
	for range 2 {
		a := next(t, arrived)
		keys = append(keys, a.header.Get("Idempotency-Key"))
		if !regexp.MustCompile(`"Result of review-\d`).Match(a.body) {
			t.Errorf("an item without its result: %s", a.body)
		}
	}
	slices.Sort(keys)
	for i, end := range []string{"#store/items/review-1", "#store/items/review-2"} {
		if !strings.HasSuffix(keys[i], end) {
			t.Errorf("%q, want one that ends with %q", keys, end)
		}
	}
	if all := strings.Join(environ(s), "\n") + "\n"; strings.Contains(all, "=real\n") {
		t.Errorf("a terminal keeps what is real: %s", all)
	}
	file, store := exports(s), variable(s, "OPLEDGER_STORE")
	if log := s.Stop(); !strings.Contains(log, "opledger: the effects of OPLEDGER_EFFECTS run for real: store; ") {
		t.Errorf("it does not say what it runs for real: %s", log)
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) || store != f.Store() {
		t.Errorf("%s is left (%v), and the ledger is in %s", file, err, store)
	}
	shown := commandtest.Run(t, nil, "show", submitted.Operation, "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(shown.Out, "SUCCEEDED") {
		t.Error(shown.Out)
	}
}

// TestSimulateBeginsEmpty: a ledger of before may wait for what the simulated Gemini has forgotten, and that is said.
func TestSimulateBeginsEmpty(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	const words = "does not know 1 operation that the ledger waits for"
	if log := simulate(t, nil, "--store", f.Store()).Stop(); !strings.Contains(log, words) {
		t.Errorf("it does not say so: %s", log)
	}
	if log := simulate(t, nil).Stop(); strings.Contains(log, "begins empty") {
		t.Errorf("it says so of an empty ledger: %s", log)
	}
}

// TestSimulateStatus: a pass sees the webhook of the simulated Gemini, and status says that it is enabled.
func TestSimulateStatus(t *testing.T) {
	t.Parallel()
	s := simulate(t, nil)
	s.WantStatus(http.StatusOK, http.MethodPost, variable(s, "OPLEDGER_URL")+"/reconcile")
	got := commandtest.Run(t, environ(s), "status").Want(t, terminal.ExitDone)
	if !regexp.MustCompile(`\nwebhook +enabled\n`).MatchString(got.Out) {
		t.Error(got.Out)
	}
}

// TestSimulateEnds: the simulated Gemini closes the connections on which it delivers as soon as serve is to end, and
// not only after what serve waits for: serve would wait for a request on each that was opened and not used.
func TestSimulateEnds(t *testing.T) {
	t.Parallel()
	arrived, closed := make(chan struct{}, 10), make(chan struct{}, 10)
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
	}))
	hook.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	hook.Start()
	t.Cleanup(hook.Close)
	s := simulate(t, nil)
	_, err := client(s).Batches.Create(t.Context(), "gemini-3.5-flash", reviews(), &genai.CreateBatchJobConfig{
		WebhookConfig: &genai.WebhookConfig{Uris: []string{hook.URL}},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	held, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	const half = "POST /register HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
	if _, err := io.WriteString(held, half); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(held)
	if line, _, err := answers.ReadLine(); err != nil || string(line) != "HTTP/1.1 100 Continue" { // it is in progress
		t.Fatalf("%s, %v", line, err)
	}
	_, _, err = answers.ReadLine() // the empty one
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Stop()
	}()
	<-closed
	_, err = io.WriteString(held, "{}")
	answer, readErr := http.ReadResponse(answers, nil)
	if err := errors.Join(err, readErr); err != nil {
		t.Fatalf("serve no longer waits for its last request: %v", err)
	}
	if err := errors.Join(answer.Body.Close(), held.Close()); err != nil {
		t.Error(err)
	}
	<-ended
}
