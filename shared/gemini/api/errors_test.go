package api_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestError: what an answer other than 200 says, the same for Get and Call.
func TestError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retryAfter, body string
		want             api.Error
	}{
		"JSON": {
			body: `{"error":{"code":404,"message":"not\n here","status":"NOT_FOUND"}}`,
			want: api.Error{Status: 404, Canonical: "NOT_FOUND", Message: `not here (code 404, status "NOT_FOUND")`},
		},
		"a text code": {
			body: `{"error":{"code":"not_found"}}`,
			want: api.Error{Status: 404, Message: `(code not_found, status "")`},
		},
		"HTML":  {body: "<html>\n\x00\xff502</html>", want: api.Error{Status: 502, Message: "<html> 502</html>"}},
		"empty": {want: api.Error{Status: 503, Message: "an answer without a body"}},
		"seconds": {
			retryAfter: "120", body: "slower", want: api.Error{Status: 429, Message: "slower", RetryAfter: 2 * time.Minute},
		},
		"a date": {
			retryAfter: noon.Add(time.Minute).Format(http.TimeFormat), body: "slower",
			want: api.Error{Status: 429, Message: "slower", RetryAfter: time.Minute},
		},
		"the longer of header and body": {
			retryAfter: "5", body: `{"error":{"message":"slower","details":[{"retryDelay":"7.5s"},{"retryDelay":"soon"}]}}`,
			want: api.Error{Status: 429, Message: `slower (code <nil>, status "")`, RetryAfter: 7500 * time.Millisecond},
		},
		"at most a day": {
			retryAfter: "4000000000", body: "slower",
			want: api.Error{Status: 503, Message: "slower", RetryAfter: 24 * time.Hour},
		},
		"the key": {
			body: `{"error":{"code":400,"message":"no","details":[{"reason":"API_KEY_INVALID"}]}}`,
			want: api.Error{Status: 400, Message: `no (code 400, status "")`, InvalidKey: true},
		},
		"no success but 200": {body: "made", want: api.Error{Status: 201, Message: "made"}},
		"long": {
			body: strings.Repeat("x", 1<<20), want: api.Error{Status: 500, Message: strings.Repeat("x", 509) + "…"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", c.retryAfter)
				w.WriteHeader(c.want.Status)
				_, _ = io.WriteString(w, c.body)
			})
			for way, ask := range ways {
				err := ask(t.Context(), client)
				var got *api.Error
				if !errors.As(err, &got) {
					t.Fatalf("%s: %v is no *Error", way, err)
				}
				want := c.want
				want.Resource = got.Resource
				if diff := cmp.Diff(want, *got); diff != "" || !strings.HasSuffix(got.Resource, "/abc") {
					t.Errorf("%s: %s, -want +got\n%s", way, got.Resource, diff)
				}
			}
		})
	}
}

// TestErrorKeepsKey: neither a server that repeats the request nor the URL that net/http quotes
// brings the key or a password into an error, however it is encoded.
func TestErrorKeepsKey(t *testing.T) {
	t.Parallel()
	encoded := []string{
		apiKey, strings.ToUpper(apiKey), strings.ReplaceAll(apiKey, "-", "%2D"), strings.ReplaceAll(apiKey, "-", `\u002d`),
		base64.StdEncoding.EncodeToString([]byte(apiKey)), hex.EncodeToString([]byte(apiKey)),
	}
	telling := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "you sent "+strings.Join(encoded, ", "))
	})
	for way, ask := range ways {
		err := ask(t.Context(), telling)
		for _, said := range encoded {
			if err == nil || strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), "you sent [API key]") {
				t.Errorf("%s: %v", way, err)
			}
		}
	}
	away := serve(t, http.NotFound, func(o *api.Options) { o.BaseURL = "http://alice-of-ops:hunter2@127.0.0.1:1/" })
	err := get(t.Context(), away)
	if !errors.Is(err, api.ErrInterrupted) || strings.Contains(err.Error(), "hunter2") ||
		strings.Contains(err.Error(), "alice") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v", err)
	}
}
