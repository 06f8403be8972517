package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestGet: one GET, the key in a header only, and the query as it was given.
func TestGet(t *testing.T) {
	t.Parallel()
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RequestURI() != "/v1beta/files/a:download?alt=media" ||
			r.Header.Get("X-Goog-Api-Key") != apiKey {
			t.Errorf("%s %s with key %q", r.Method, r.URL, r.Header.Get("X-Goog-Api-Key"))
		}
	})
	body, err := client.Get(t.Context(), "files/a:download", url.Values{"alt": {"media"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
}

// TestCall: one request with its body, and the members of the answer that are asked for. Interactions
// and webhooks are asked for in a dated form.
func TestCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		resource, revision string
		in                 any
		body, kind         string
	}{
		{"webhooks/a:ping", "2026-05-20", nil, "", ""},
		{"interactions/a", "2026-05-20", map[string]string{"a": "b"}, `{"a":"b"}`, "application/json"},
		{"batches/a", "", map[string]string{}, "{}", "application/json"},
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if got := r.Method + " " + r.RequestURI + " " + string(body); got != "PATCH /v1beta/"+c.resource+"?q=1 "+c.body ||
				r.Header.Get("X-Goog-Api-Key") != apiKey || r.Header.Get("Content-Type") != c.kind ||
				r.Header.Get("Api-Revision") != c.revision || (r.Header.Get("Accept") != "") != (c.revision != "") {
				t.Errorf("%s with %v", got, r.Header)
			}
			_, _ = io.WriteString(w, ` {"a":"b","c":[1]} `)
		})
		var answer struct{ A string }
		if err := client.Call(t.Context(), http.MethodPatch, c.resource, url.Values{"q": {"1"}}, c.in, &answer); err != nil ||
			answer.A != "b" {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	err := serve(t, http.NotFound).Call(t.Context(), http.MethodPost, "webhooks", nil, func() {}, &struct{}{})
	if err == nil || !strings.Contains(err.Error(), "encoding the request for webhooks") {
		t.Errorf("%v", err)
	}
}

// TestInterrupted: no answer, and one that breaks off, are errors of the connection.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	silent := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	short := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"name":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	for way, ask := range ways {
		if err := ask(t.Context(), silent); !errors.Is(err, api.ErrInterrupted) {
			t.Errorf("%s: no answer: %v", way, err)
		}
	}
	if err := call(t.Context(), short); !errors.Is(err, api.ErrInterrupted) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Call: half an answer: %v", err)
	}
	body, err := short.Get(t.Context(), "batches/abc", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); !errors.Is(err, api.ErrInterrupted) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Get: half an answer: %v", err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for way, ask := range ways {
		if err := ask(ended, silent); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the end of the context", way, err)
		}
	}
}

// TestCallAnswer: one object is read, of exactly the limit at most. Nothing else is taken for an
// object without members.
func TestCallAnswer(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat(" ", api.MaxValueBytes-len(`{"a":"b"}`))
	for _, c := range []struct {
		text string
		want error // nil: a is b
		says string
	}{
		{`{"a":"b"}`, nil, ""},
		{`{"a":"b"}` + padding, nil, ""},
		{`{"a":"b"}` + padding + " ", api.ErrTooLarge, "more than 33554432 bytes"},
		{"", nil, "is not a JSON object"}, {"null", nil, "is not a JSON object"}, {"[]", nil, "is not a JSON object"},
		{"<html>", nil, "is not a JSON object"}, {`{"a":1}`, nil, "cannot unmarshal"}, {`{"a":"b"`, nil, "unexpected end"},
		{`{"a":"b"}{}`, nil, "after top-level value"},
	} {
		var answer struct{ A string }
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.text) })
		err := client.Call(t.Context(), http.MethodGet, "webhooks/a", nil, nil, &answer)
		if c.says == "" && (err != nil || answer.A != "b") ||
			c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, api.ErrInterrupted)) ||
			c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%.20q: %+v, %v, want %q", c.text, answer, err, c.says)
		}
	}
}
