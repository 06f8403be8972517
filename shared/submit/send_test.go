package submit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// TestRefused: Gemini takes nothing, nothing runs, the intent is gone, and the same id is free at
// once [G6].
func TestRefused(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		refusal := geminisim.ErrorAnswer
		if k.collection == operation.Interactions {
			refusal = geminisim.InteractionError
		}
		for _, answer := range []geminisim.Answer{
			refusal(400, "API key not valid."), refusal(429, "quota"), refusal(403, "no"),
			geminisim.ErrorAnswer(404, "no such model"),
			{Status: 413, Body: []byte("<html>too large</html>")},
		} {
			w.sim.AnswerNext(k.create, "", answer)
			got, err := k.submit(w, operation.Submission{CorrelationID: "c"})
			w.wantError(err, submit.ErrRefused)
			if got.CorrelationID != "c" || got.Name != "" || strings.Contains(err.Error(), "may stay recorded") {
				t.Errorf("%+v beside %v", got, err)
			}
			w.wantIntent("")
		}
		_, err := k.submit(w, operation.Submission{CorrelationID: "c"})
		if err != nil { // what was refused before stands in no way
			t.Fatal(err)
		}
		if truth := k.truth(w.sim); len(truth) != 1 {
			t.Errorf("%d run", len(truth))
		}
	})
}

// TestRefusedAndNotWithdrawn: the error names both failures, and the intent is withdrawn even after
// ctx has ended.
func TestRefusedAndNotWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refuse := func(leave func()) func(context.Context, submit.Mark) (string, error) {
		return func(context.Context, submit.Mark) (string, error) {
			leave()
			return "", submit.RequestError(genai.APIError{Code: http.StatusBadRequest})
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	_, err := w.submitter.Submit(ctx, operation.Submission{CorrelationID: "gone"}, operation.Operations, refuse(leave))
	w.wantError(err, submit.ErrRefused)
	w.wantIntent("")

	w.registrar.withdraw = ledger.ErrUnavailable
	c := operation.Submission{CorrelationID: "c"}
	_, err = w.submitter.Submit(t.Context(), c, operation.Operations, refuse(func() {}))
	w.wantError(err, submit.ErrRefused, ledger.ErrUnavailable)
	w.wantIntent("c")
}

// TestOnlyCreateKnowsThatNothingRuns: an error of another request than the creation says nothing of what
// runs, although it looks the same. Without the mark of create the intent stays [G6].
func TestOnlyCreateKnowsThatNothingRuns(t *testing.T) {
	t.Parallel()
	for what, err := range map[string]error{
		"a look-up of what was created": genai.APIError{Code: http.StatusNotFound},
		"a database that is down":       &net.OpError{Op: "dial", Err: errors.New("connection refused")},
	} {
		w := newWorld(t)
		_, got := w.submitter.Submit(t.Context(), operation.Submission{CorrelationID: "c"}, operation.Batches,
			func(context.Context, submit.Mark) (string, error) { return "", err })
		w.wantError(got, submit.ErrUnanswered)
		w.wantIntent("c")

		w = newWorld(t)
		_, got = w.submitter.Submit(t.Context(), operation.Submission{CorrelationID: "c"}, operation.Batches,
			func(context.Context, submit.Mark) (string, error) { return "", submit.RequestError(err) })
		w.wantError(got, submit.ErrRefused)
		w.wantIntent("")
		if !strings.Contains(got.Error(), err.Error()) {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestUnreached: without a connection nothing was sent.
func TestUnreached(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		w.submitter = w.submitterAt("http://127.0.0.1:1")
		_, err := k.submit(w, operation.Submission{CorrelationID: "c"})
		w.wantError(err, submit.ErrRefused)
		w.wantIntent("")
	})
}

// TestKeyInTheClear: a client that would send its API key over plain http is not used, and leaves
// no intent.
func TestKeyInTheClear(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
			APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: "http://elsewhere"},
			HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				t.Errorf("sent to %s", r.URL)
				return nil, http.ErrNotSupported
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.submitter = submit.New(submit.Options{Intents: w.registrar, Operations: w.registrar, Gemini: client})
		c := operation.Submission{CorrelationID: "c"}
		_, err = k.submit(w, c)
		w.wantError(err, submit.ErrInput)
		_, err = w.submitter.Video(t.Context(), c, "veo", &genai.GenerateVideosSource{},
			&genai.GenerateVideosConfig{HTTPOptions: &genai.HTTPOptions{Headers: http.Header{"X-Team": {"reviews"}}}})
		w.wantError(err, submit.ErrInput) // the request's own options have no address
		w.wantIntent("")
	})
}

// TestAnswerOfAnotherType: an answer that was not asked for, such as a stream, or that names nothing,
// says nothing of what runs.
func TestAnswerOfAnotherType(t *testing.T) {
	t.Parallel()
	for contentType, body := range map[string]string{
		"text/event-stream": "data: {}\n\n", "application/json": `{"id":null,"status":"in_progress"}`,
	} {
		w := newWorld(t)
		w.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Request: r,
				Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		})
		_, err := w.submitter.Interaction(t.Context(), operation.Submission{CorrelationID: "c"}, question("why?"))
		w.wantError(err, submit.ErrUnanswered)
		if !strings.Contains(err.Error(), "has no name") {
			t.Errorf("%s: %v", contentType, err)
		}
		w.wantIntent("c")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestUnanswered: the operation runs and its name is not known. It was sent once; the intent waits
// for its event [G6].
func TestUnanswered(t *testing.T) {
	t.Parallel()
	performed := func(a geminisim.Answer) geminisim.Answer {
		a.Perform = true
		return a
	}
	for what, answer := range map[string]geminisim.Answer{
		"503":              geminisim.LostAnswer(),
		"408":              performed(geminisim.ErrorAnswer(408, "slow")),
		"499":              performed(geminisim.ErrorAnswer(499, "gone")),
		"HTML":             {Status: 502, Body: []byte("<html>\x1b[2J"), Perform: true},
		"broken off":       {Body: []byte(`{"name":`), Drop: true, Perform: true},
		"empty":            {Body: []byte(`{}`), Perform: true},
		"an error in 200":  {Body: []byte(`{"error":{"code":500,"message":"no"}}`), Perform: true},
		"null":             {Body: []byte(`null`), Perform: true},
		"another type":     {Body: []byte(`{"name":7,"id":7,"metadata":[]}`), Perform: true},
		"unexpected words": {Body: []byte(`{"metadata":"x","response":"y","done":"z"}`), Perform: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			eachKind(t, func(t *testing.T, w *world, k kind) {
				w.sim.AnswerNext(k.create, "", answer)
				got, err := k.submit(w, operation.Submission{CorrelationID: "c"})
				w.wantError(err, submit.ErrUnanswered)
				if truth := k.truth(w.sim); len(truth) != 1 || truth[0].UserMetadata[gemini.CorrelationKey] != "c" ||
					got.CorrelationID != "c" {
					t.Errorf("%+v, Gemini has %+v", got, truth)
				}
				if n := w.sim.Stats().Creates; n != 1 {
					t.Errorf("it was sent %d times", n)
				}
				w.wantIntent("c")
				w.wantRegistered()
			})
		})
	}
}

// TestCallerGoes: if ctx ends during the request, the operation may run. Once Gemini has answered
// it is registered even so [L2].
func TestCallerGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := w.submitter.Submit(
		ctx,
		operation.Submission{CorrelationID: "answered"},
		operation.Batches,
		func(context.Context, submit.Mark) (string, error) {
			cancel()
			return "batches/a", nil
		},
	)
	if err != nil || got.Name != "batches/a" {
		t.Fatalf("%+v, %v", got, err)
	}
	w.wantRegistered("batches/a")

	ctx, cancel = context.WithCancel(t.Context())
	inner := w.http.Transport
	w.http.Transport = leaving{inner, cancel}
	_, err = w.submitter.Submit(
		ctx,
		operation.Submission{CorrelationID: "gone"},
		operation.Batches,
		func(ctx context.Context, _ submit.Mark) (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, nil)
			if err != nil {
				return "", err
			}
			response, err := w.http.Do(request)
			if err != nil {
				return "", err
			}
			return "batches/b", response.Body.Close()
		},
	)
	w.wantError(err, submit.ErrUnanswered, context.Canceled)
	w.wantIntent("gone")
}

// leaving ends ctx before a request is sent.
type leaving struct {
	http.RoundTripper
	leave func()
}

func (l leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	l.leave()
	return l.RoundTripper.RoundTrip(r)
}

// TestNoIntentNoSubmission: without a recorded intent nothing is submitted [G6].
func TestNoIntentNoSubmission(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		w.registrar.intend = ledger.ErrUnavailable
		_, err := k.submit(w, operation.Submission{})
		w.wantError(err, ledger.ErrUnavailable)
		if n := w.sim.Stats().APIRequests; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// TestUnregistered: the operation runs, and its name is beside the error; its event finds the
// intent [G6].
func TestUnregistered(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		w.registrar.register = ledger.ErrUnavailable
		got, err := k.submit(w, operation.Submission{CorrelationID: "c", JobKind: "nightly"})
		w.wantError(err, submit.ErrUnregistered, ledger.ErrUnavailable)
		truth := k.truth(w.sim)
		if len(truth) != 1 || got.Name != truth[0].Name || got.CorrelationID != "c" {
			t.Fatalf("%+v, Gemini has %+v", got, truth)
		}
		w.wantIntent("c")
		name, err := operation.ParseName(got.Name, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ledger.Operations.Ingest(t.Context(), operation.Event{
			Name: name, DeliveryID: "msg_1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: w.clock.Now(),
			CorrelationID: "c",
		}); err != nil {
			t.Fatal(err)
		}
		w.wantIntent("")
		w.wantRegistered(got.Name)
		again, err := k.submit(w, operation.Submission{CorrelationID: "c"})
		if err != nil || !again.Known || again.Name != string(name.Key) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

// TestUnregisteredName: what Gemini may not have called an operation is not registered, and is beside
// the error.
func TestUnregisteredName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, err := w.submitter.Submit(t.Context(), operation.Submission{CorrelationID: "c"}, operation.Batches,
		func(context.Context, submit.Mark) (string, error) { return "batches/\x1b", nil })
	w.wantError(err, submit.ErrUnregistered, operation.ErrName)
	if got.Name != "batches/\x1b" {
		t.Errorf("%+v", got)
	}
	w.wantIntent("c")
	w.wantRegistered()
}
