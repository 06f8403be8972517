package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"
)

// client is the test's own, so that its idle connections can be closed.
var client = &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}

// A front stands before the instances, as a load balancer does: it passes a request on to one of
// them, whether or not that one lives, and answers 502 for one that does not.
type front struct {
	fleet *fleet
	// Connections are not kept: a request on one whose process has died would be repeated in silence.
	transport *http.Transport
}

func newFront(f *fleet) *front {
	return &front{fleet: f, transport: &http.Transport{DisableKeepAlives: true}}
}

// momentOf is the moment of a request that was passed on.
func momentOf(path string) moment {
	switch {
	case path == "/webhook":
		return delivering
	case path == "/register":
		return registering
	case path == "/reconcile":
		return reconciling
	case strings.HasPrefix(path, pushPath):
		return pushed
	}
	return ""
}

// strikeWindow is the while after a request was passed on in which its process may be killed: about
// what a commit takes.
const strikeWindow = 20 * time.Millisecond

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked has gone
	}
	p := f.fleet.pick(r.URL.Path)
	if p == nil || p.url() == "" || p.wasKilled() {
		http.Error(w, "it is down", http.StatusBadGateway)
		return
	}
	ctx := httptrace.WithClientTrace(
		r.Context(),
		&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
			f.fleet.killer.strikeWithin(momentOf(r.URL.Path), p.id, strikeWindow)
		}},
	)
	request, err := http.NewRequestWithContext(ctx, r.Method, p.url()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	request.Header = r.Header.Clone()
	response, err := f.transport.RoundTrip(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		f.fleet.t.Errorf("closing the answer of %s: %v", p.id, err)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if response.StatusCode/100 == 2 {
		p.answered.Add(1)
	}
	if key, ends := f.fleet.store.acknowledges(p, response.StatusCode, body); ends &&
		f.fleet.killer.strike(acknowledging, p.id, key) {
		http.Error(w, "it died", http.StatusBadGateway)
		return
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer) // who asked may have gone
}

// A geminiDoor is Gemini's API, where a process may be killed while it asks. The processes' keys are their ids.
type geminiDoor struct{ fleet *fleet }

func (d *geminiDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && d.fleet.killer.strike(lookingUp, r.Header.Get("X-Goog-Api-Key"), "") {
		panic(http.ErrAbortHandler)
	}
	d.fleet.sim.Handler().ServeHTTP(w, r)
}

// send makes a request and reads its answer.
func send(method, url string, body []byte, header http.Header) (status int, answer []byte, got http.Header, err error) {
	return sendBy(client, method, url, body, header)
}

// sendBy is send by a client of its own, such as one that waits longer.
func sendBy(
	client *http.Client, method, url string, body []byte, header http.Header,
) (status int, answer []byte, got http.Header, err error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, response.Header, err
}

// askGemini calls the simulated API as a submitter and decodes its answer.
func (f *fleet) askGemini(path, body string, into any) error {
	status, answer, _, err := send(http.MethodPost, f.gemini.URL+path, []byte(body),
		http.Header{"X-Goog-Api-Key": {"submitter"}})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s", status, answer)
	}
	if err == nil {
		err = json.Unmarshal(answer, into)
	}
	return err
}

// createWebhook points Gemini at the front and returns the secret.
func (f *fleet) createWebhook() string {
	var hook struct {
		Secret string `json:"new_signing_secret"`
	}
	err := f.askGemini("/v1beta/webhooks", fmt.Sprintf(
		`{"uri":%q,"subscribed_events":["batch.succeeded","batch.failed","batch.expired"]}`,
		f.front.URL+"/webhook",
	), &hook)
	if err != nil || hook.Secret == "" {
		f.t.Fatalf("creating the webhook: %v", err)
	}
	return hook.Secret
}

// submit starts a batch. One whose answer was lost runs all the same and is never registered.
func (f *fleet) submit(displayName string) (name string, err error) {
	var job struct {
		Name string `json:"name"`
	}
	err = f.askGemini("/v1beta/models/gemini-3.5-flash:batchGenerateContent",
		fmt.Sprintf(`{"batch":{"displayName":%q,"inputConfig":{"fileName":"files/input"}}}`, displayName), &job)
	return job.Name, err
}

// register tells one of the instances about an operation, and another one where that fails, until it was taken.
func (f *fleet) register(name string) (err error) {
	registered := until(patience, func() bool {
		var status int
		var answer []byte
		status, answer, _, err = send(http.MethodPost, f.front.URL+"/register",
			fmt.Appendf(nil, `{"name":%q,"jobKind":"e2e"}`, name), nil)
		if err == nil && status != http.StatusCreated && status != http.StatusOK {
			err = fmt.Errorf("registering %s: %d %s", name, status, answer)
		}
		return err == nil || status/100 == 4
	})
	if !registered {
		err = fmt.Errorf("not within %v: %w", patience, err)
	}
	return err
}
