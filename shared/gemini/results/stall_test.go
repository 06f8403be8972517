package results_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// A stalling server sends some text, and then nothing until the request ends.
type stalling string

func (s stalling) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.answer(r, http.StatusOK), nil
}

func (s stalling) answer(r *http.Request, status int) *http.Response {
	rest := readFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, r.Context().Err()
	})
	return &http.Response{
		StatusCode: status,
		Body:       io.NopCloser(io.MultiReader(strings.NewReader(string(s)), rest)),
	}
}

// A refusing server refuses, and stalls while it says why.
type refusing string

func (r refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	return stalling(r).answer(request, http.StatusServiceUnavailable), nil
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestStalled: a download that brings nothing for a minute is a transient error [R6]. The time of
// its reader does not count.
func TestStalled(t *testing.T) {
	t.Parallel()
	for from, result := range map[string]operation.Result{"file": {OutputFile: file}, "inline": {Inline: true}} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				texts := map[string]stalling{
					"file":   `{"key":"a","response":1}` + "\n",
					"inline": `{"response":{"inlinedResponses":{"inlinedResponses":[{"metadata":{"key":"a"},"response":1}`,
				}
				client, err := results.New(results.Options{APIKey: apiKey, HTTP: &http.Client{Transport: texts[from]}})
				if err != nil {
					t.Fatal(err)
				}
				reader, err := client.Open(t.Context(), key, result)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				if item, err := reader.Next(); err != nil || item.Key != "a" {
					t.Fatalf("%+v %v", item, err)
				}
				time.Sleep(time.Hour)
				began := time.Now()
				_, err = reader.Next()
				if took := time.Since(began); err == nil || errors.Is(err, results.ErrNotFound) ||
					!strings.Contains(err.Error(), "no bytes arrived") ||
					took != time.Minute {
					t.Errorf("after %v: %v", took, err)
				}
				if err := reader.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStalledRefusal: a refusal whose body stalls ends after two minutes, with its status.
func TestStalledRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := results.New(results.Options{APIKey: apiKey, HTTP: &http.Client{Transport: refusing("overl")}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = client.Open(t.Context(), key, operation.Result{OutputFile: file})
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "503") || took != 2*time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
