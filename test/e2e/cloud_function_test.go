package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/harness"
)

// secret is what the tests sign with.
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// serveFunction starts a function, and returns it when it takes requests.
func serveFunction(t *testing.T, function string, variables ...string) *process {
	t.Helper()
	return serveFunctionOf(t, functionBinary(t, function), function, variables...)
}

// serveFunctionOf is serveFunction with a program that the caller has built.
func serveFunctionOf(t *testing.T, program, function string, variables ...string) *process {
	t.Helper()
	p, err := startFunctionOf(t, program, strings.ToLower(function), function, variables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		client.CloseIdleConnections()
	})
	select {
	case <-p.ready:
	case <-p.done:
		t.Fatalf("%s ended by itself: %v\n%s", function, p.err, p.tail())
	}
	return p
}

// line waits for the first line of the log that is about an event.
func (p *process) line(t *testing.T, event string) (found logLine) {
	t.Helper()
	eventually(t, "a line about "+event+": "+p.tail(), func() bool {
		for _, line := range p.lines() {
			if line.Event == event {
				found = line
				return true
			}
		}
		return false
	})
	return found
}

func traced(header http.Header) http.Header {
	if header == nil {
		header = http.Header{"Content-Type": {"application/json"}}
	}
	header.Set("X-Cloud-Trace-Context", "105445aa7843bc8bf206b12000100000/1;o=1")
	return header
}

// TestCloudFunctions: each function runs as it is deployed, with nothing but its environment,
// answers as the contract says, and logs lines in Cloud Logging's form; those about an HTTP request
// have its trace.
func TestCloudFunctions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	f := newFleet(t, c.backend, 0, geminisim.Config{Speed: 1000}) // for its Gemini
	done := eventOf("batch.succeeded", "batches/a")
	effect := push("batches/absent", "publish")
	get := call{
		what: "GET [W7]", method: http.MethodGet, path: "/", status: 405,
		heads: map[string]string{"Allow": "POST"},
	}
	for function, want := range map[string]struct {
		variables []string
		calls     []call
		logged    logLine
	}{
		"Webhook": {
			variables: []string{"OPLEDGER_WEBHOOK_SECRET=" + secret},
			calls: []call{
				{what: "a delivery", path: "/", header: traced(signed(secret, "msg_1", time.Now(), done)), body: done, status: 200,
					want: map[string]any{"outcome": "applied", "registered": false}},
				{what: "unsigned [W1]", path: "/", body: done, status: 401},
				get,
			},
			logged: logLine{Event: "ingest", Outcome: "applied", Operation: "batches/a"},
		},
		"Register": {
			calls: []call{
				{what: "an operation", path: "/", header: traced(nil), body: `{"name":"batches/r"}`, status: 201},
				{what: "no name", path: "/", body: `{}`, status: 400},
				get,
			},
			logged: logLine{Event: "register", Outcome: "created", Operation: "batches/r"},
		},
		"Reconcile": {
			variables: []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + f.gemini.URL},
			calls: []call{
				{what: "a pass", path: "/", header: traced(nil), status: 200, want: map[string]any{"errors": 0.0}},
				get,
			},
			logged: logLine{Event: "reconcile", Outcome: "pass"},
		},
		// The operator asked for what is not there.
		"Effects": {logged: logLine{Event: "effect", Outcome: "skipped", Operation: "batches/absent", Severity: "WARNING"}},
	} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			p := serveFunction(t, function, slices.Concat(c.variables(), want.variables)...)
			for _, call := range want.calls {
				call.make(t, p.url())
			}
			trace := "projects/" + c.project + "/traces/105445aa7843bc8bf206b12000100000"
			if function == "Effects" {
				url := p.url() + "/" + c.topic(topicID)
				status, answer, _, err := send(http.MethodPost, url, []byte(effect), traced(nil))
				if err != nil || status != http.StatusOK {
					t.Errorf("a push: %d %s %v", status, answer, err)
				}
			}
			got := p.line(t, want.logged.Event)
			if got.Outcome != want.logged.Outcome || got.Operation != want.logged.Operation {
				t.Errorf("logged %+v, want %+v", got, want.logged)
			}
			at, err := time.Parse(time.RFC3339Nano, got.Time)
			if got.Severity != cmp.Or(want.logged.Severity, "INFO") || err != nil || time.Since(at) > time.Hour {
				t.Errorf("not Cloud Logging's form: %+v", got)
			}
			if got.Trace != trace {
				t.Errorf("the trace is %q, want %q", got.Trace, trace)
			}
			p.kill()
			if len(p.noise) != 0 {
				t.Errorf("it said what is no log: %q", p.noise)
			}
		})
	}
}

// TestCloudBadSettings: the function that runs does not start with bad settings, says every problem
// in one line, by name, and neither reads nor checks those of others.
func TestCloudBadSettings(t *testing.T) {
	t.Parallel()
	bad := []string{
		"OPLEDGER_GRACE=soon", "OPLEDGER_TOLERANCE=soon", "OPLEDGER_WEBHOOK_SECRET=whsec_ topsecret",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=perhaps", "GOOGLE_GEMINI_BASE_URL=nowhere", "OPLEDGER_EFFECTS=[{name: a, do: dance}]",
		"OPLEDGER_STORE=sqlite:x", "OPLEDGER_MAX_ATTEMPTS=0", "PORT=1",
	}
	common := []string{
		"GOOGLE_CLOUD_PROJECT", "OPLEDGER_EFFECTS", "OPLEDGER_GRACE", "OPLEDGER_MAX_ATTEMPTS", "OPLEDGER_STORE",
	}
	for function, own := range map[string][]string{
		"Webhook":   {"OPLEDGER_TOLERANCE", "OPLEDGER_TOPIC", "OPLEDGER_WEBHOOK_SECRET"},
		"Register":  {"OPLEDGER_TOPIC"},
		"Reconcile": {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "OPLEDGER_TOPIC", "OPLEDGER_WEBHOOK_SECRET"},
		"Effects":   {"OPLEDGER_EFFECT_ALLOW_PRIVATE", "OPLEDGER_TOPIC"},
	} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), functionBinary(t, function))
			command.Env = append([]string{"FUNCTION_TARGET=" + function}, bad...)
			printed, err := command.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || len(exit.Stderr) != 0 {
				t.Fatalf("%v, want exit code 1 and nothing on stderr; it printed %s", err, printed)
			}
			var line struct {
				Severity, Function string
				Problems           []string
			}
			if err := json.Unmarshal(printed, &line); err != nil || line.Severity != "ERROR" ||
				line.Function != function {
				t.Errorf("not one line of Cloud Logging's about it: %v in %s", err, printed)
			}
			var got []string
			for _, problem := range line.Problems {
				variable, _, _ := strings.Cut(problem, ":")
				got = append(got, variable)
			}
			slices.Sort(got)
			want := slices.Concat(common, own)
			slices.Sort(want)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("problems of %q, want of %q", got, want)
			}
			if strings.Contains(string(printed), "topsecret") {
				t.Errorf("a secret is in %s", printed)
			}
		})
	}
}

// TestCloudWebhookWithoutASecret: the first deployment comes before the webhook exists; Gemini is
// told to come again [W3].
func TestCloudWebhookWithoutASecret(t *testing.T) {
	t.Parallel()
	p := serveFunction(t, "Webhook", newCloud(t).variables()...)
	body := eventOf("batch.succeeded", "batches/early")
	call{
		what: "no secret yet", path: "/", header: signed(secret, "msg_1", time.Now(), body), body: body,
		status: 503,
	}.make(t, p.url())
	if line := p.line(t, "auth"); line.Severity != "WARNING" || line.Reason != "no-secret" {
		t.Errorf("logged %+v", line)
	}
}

// TestCloudStoreComesLater: clients are made at the first request, so that a function starts
// whatever is down; it answers 503 within the time that a request has, and works as soon as the
// store does [W3].
func TestCloudStoreComesLater(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	port, err := harness.FreePort(t)
	if err != nil {
		t.Fatal(err)
	}
	door := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	p := serveFunction(t, "Register",
		append(c.variables(), "FIRESTORE_EMULATOR_HOST="+door.String(), "CLOUD_RUN_TIMEOUT_SECONDS=3")...)
	register := call{what: "the store is down", path: "/", body: `{"name":"batches/a"}`, status: 503}
	register.make(t, p.url())
	if line := p.line(t, "register"); line.Severity != "ERROR" || line.Outcome != "error" || line.Error == "" {
		t.Errorf("logged %+v", line)
	}
	c.open(door)
	eventually(t, "the store is there, and it registers", func() bool {
		status, _, _, err := send(http.MethodPost, p.url(), []byte(register.body), nil)
		return err == nil &&
			(status == http.StatusCreated || status == http.StatusOK) // 200: a request that was given up had written
	})
}

// open passes connections to door on to the Firestore emulator.
func (c *cloud) open(door *net.TCPAddr) { newWire(c.t, door.String()).join(c.firestore) }
