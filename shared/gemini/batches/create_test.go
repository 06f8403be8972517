package batches_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

var request = batches.Request{Model: "gemini-3.5-flash", File: "files/in", CorrelationID: "jobs/nightly/00001-1"}

// TestCreate: the batch that the SDK would create, with the mark that a submitter puts on one [K6].
func TestCreate(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, model := range []string{"gemini-3.5-flash", "models/gemini-3.5-flash", "tunedModels/mine"} {
		r := request
		r.Model = model
		name, err := w.client.Create(t.Context(), r)
		if err != nil && model != "tunedModels/mine" || err == nil && name.Key.Collection() != operation.Batches {
			t.Fatal(name, err)
		}
		ours := w.requests()
		mark := submit.Mark{CorrelationID: r.CorrelationID}
		_, _ = w.sdk.Batches.Create(t.Context(), model, &genai.BatchJobSource{FileName: r.File},
			&genai.CreateBatchJobConfig{
				DisplayName:   gemini.DisplayName("", r.CorrelationID),
				WebhookConfig: &genai.WebhookConfig{UserMetadata: mark.Metadata(nil)},
			})
		if diff := cmp.Diff(normal(w.requests()), normal(ours)); diff != "" || len(ours) != 1 {
			t.Errorf("%s: %d requests, -SDK +ours\n%s", model, len(ours), diff)
		}
		if model == "tunedModels/mine" { // the simulator has none
			continue
		}
		answer, err := w.client.Get(t.Context(), name.Key)
		got := read(answer)
		ours = w.requests()
		_, _ = w.sdk.Batches.Get(t.Context(), string(name.Key), nil)
		if diff := cmp.Diff(w.requests(), ours); diff != "" {
			t.Errorf("%s: getting: -SDK +ours\n%s", model, diff)
		}
		want := batch{
			State: operation.Pending, InputFile: r.File, CorrelationID: r.CorrelationID, Requests: got.Requests,
			UpdateTime: got.UpdateTime,
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || got.UpdateTime.IsZero() || got.Requests == 0 {
			t.Errorf("%v, -want +got\n%s", err, diff)
		}
	}
}

// google is an error in the form of Google's APIs.
func google(status, message string) string {
	return `{"error":{"code":1,"message":"` + message + `","status":"` + status + `"}}`
}

const badKey = `{"error":{"message":"no","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`

// refusals are answers to a creation, and what each means.
var refusals = map[string]struct {
	status int
	body   string
	want   batches.Cause
}{
	"too many":          {429, google("RESOURCE_EXHAUSTED", "check your plan and billing details"), batches.RateLimited},
	"too many, HTML":    {429, "<html>", batches.RateLimited},
	"too many tokens":   {400, google("RESOURCE_EXHAUSTED", "enqueued tokens"), batches.RateLimited},
	"bad key":           {400, badKey, batches.Denied},
	"bad key, in words": {400, google("INVALID_ARGUMENT", "API key expired. Please renew."), batches.Denied},
	"no key":            {401, google("UNAUTHENTICATED", "no"), batches.Denied},
	"billing":           {400, google("FAILED_PRECONDITION", "Please enable billing"), batches.Denied},
	"billing, invalid":  {400, google("INVALID_ARGUMENT", "Billing is off"), batches.Denied},
	"region":            {400, google("FAILED_PRECONDITION", "User location is not supported"), batches.Denied},
	"region, invalid":   {400, google("INVALID_ARGUMENT", "Not available in your country"), batches.Denied},
	"precondition":      {400, google("FAILED_PRECONDITION", "Precondition check failed."), batches.Denied},
	"payment":           {402, "pay", batches.Denied},
	"forbidden":         {403, google("PERMISSION_DENIED", "The caller does not have permission"), batches.Denied},
	"file, forbidden": {
		403, google("PERMISSION_DENIED", "You do not have permission to access the File x or it may not exist."),
		batches.FileGone,
	},
	"file, not found": {404, google("NOT_FOUND", "File files/in was not found"), batches.FileGone},
	"model":           {404, google("NOT_FOUND", "models/m is not found for API version v1beta"), batches.Invalid},
	"request":         {400, google("INVALID_ARGUMENT", "The file has no field location."), batches.Invalid},
	"HTML":            {400, "<html>", batches.Invalid},
	"conflict":        {409, google("ABORTED", "no"), batches.Invalid},

	"timeout":          {408, "later", batches.Ambiguous},
	"gone away":        {499, google("CANCELLED", "no"), batches.Ambiguous},
	"moved":            {308, "there", batches.Ambiguous},
	"failure":          {500, google("INTERNAL", "API key"), batches.Ambiguous},
	"unavailable":      {503, google("RESOURCE_EXHAUSTED", "later"), batches.Ambiguous},
	"made":             {201, `{"name":"batches/a"}`, batches.Ambiguous},
	"no name":          {200, `{}`, batches.Ambiguous},
	"an error":         {200, google("INVALID_ARGUMENT", "no"), batches.Ambiguous},
	"another name":     {200, `{"name":"operations/a"}`, batches.Ambiguous},
	"a bare name":      {200, `{"name":"abc"}`, batches.Ambiguous},
	"a garbled name":   {200, `{"name":"batches/\ud800"}`, batches.Ambiguous},
	"no text as name":  {200, `{"name":7}`, batches.Ambiguous},
	"no JSON":          {200, `<html>`, batches.Ambiguous},
	"an empty answer":  {200, ``, batches.Ambiguous},
	"the key as name":  {200, `{"name":"` + apiKey + `"}`, batches.Ambiguous},
	"the key, refused": {400, "you sent " + apiKey, batches.Denied},
}

// TestCreateEmbeddings: the batch of embeddings that the SDK would create, marked by its display name alone.
func TestCreateEmbeddings(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := request
	r.Embed = true
	name, err := w.client.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	ours := w.requests()
	_, err = w.sdk.Batches.CreateEmbeddings(t.Context(), new(r.Model), &genai.EmbeddingsBatchJobSource{FileName: r.File},
		&genai.CreateEmbeddingsBatchJobConfig{DisplayName: gemini.DisplayName("", r.CorrelationID)})
	if diff := cmp.Diff(normal(w.requests()), normal(ours)); err != nil || diff != "" || len(ours) != 1 {
		t.Errorf("%v, %d requests, -SDK +ours\n%s", err, len(ours), diff)
	}
	answer, err := w.client.Get(t.Context(), name.Key)
	if got := read(answer); err != nil || got.InputFile != r.File || got.CorrelationID != r.CorrelationID {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCreateRefused: which answers say that no batch runs, and why. Each comes to the one request that is
// sent.
func TestCreateRefused(t *testing.T) {
	t.Parallel()
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				says(c.status, c.body)(w, r)
			})
			_, err := client.Create(t.Context(), request)
			_, answered := errors.AsType[*api.Error](err)
			if got := batches.CauseOf(err); got != c.want ||
				errors.Is(err, batches.ErrRefused) != (c.want != batches.Ambiguous) ||
				answered != (c.status != 200) || strings.Contains(err.Error(), apiKey) {
				t.Errorf("%s: %v, want %s", got, err, c.want)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// TestCreateInvalid: a request that would become another one, or whose batch would not be found again, is
// not sent.
func TestCreateInvalid(t *testing.T) {
	t.Parallel()
	client := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, r := range []batches.Request{
		{Model: "", File: "files/in", CorrelationID: "a"},
		{Model: "..", File: "files/in", CorrelationID: "a"},
		{Model: "m?x=1", File: "files/in", CorrelationID: "a"},
		{Model: "m:predictLongRunning", File: "files/in", CorrelationID: "a"},
		{Model: "models/a/b", File: "files/in", CorrelationID: "a"},
		{Model: "m\n", File: "files/in", CorrelationID: "a"},
		{Model: "m", File: "", CorrelationID: "a"},
		{Model: "m", File: "in", CorrelationID: "a"},
		{Model: "m", File: "files/a b", CorrelationID: "a"},
		{Model: "m", File: "files/in", CorrelationID: ""},
		{Model: "m", File: "files/in", CorrelationID: "a b"},
		{Model: "m", File: "files/in", CorrelationID: strings.Repeat("a", gemini.MaxCorrelationID+1)},
	} {
		if _, err := client.Create(t.Context(), r); batches.CauseOf(err) != batches.Invalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// closed is the address of a port at which nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(nil)
	server.Close()
	return server.URL
}

// TestCreateUnsent: where no connection was made nothing runs, and else a lost answer leaves it open.
func TestCreateUnsent(t *testing.T) {
	t.Parallel()
	breaking := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(breaking.Close)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	never := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-t.Context().Done() // net/http goes on with a connection when its request has ended
		return nil, net.ErrClosed
	}}
	withTLS := "https" + strings.TrimPrefix(breaking.URL, "http")
	foreign := inProcess(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, c := range map[string]struct {
		ctx       context.Context
		base      string
		transport http.RoundTripper
		want      batches.Cause
	}{
		"nothing listens":       {t.Context(), closed(t), &http.Transport{}, batches.Unsent},
		"no TLS":                {t.Context(), withTLS, &http.Transport{}, batches.Unsent},
		"no connection in time": {t.Context(), "https://gemini.example", never, batches.Unsent},
		"ended before":          {ended, breaking.URL, &http.Transport{}, batches.Unsent},
		"the answer is lost":    {t.Context(), breaking.URL, &http.Transport{}, batches.Ambiguous},
		"another transport":     {t.Context(), breaking.URL, foreign, batches.Ambiguous},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := batches.Options{BaseURL: c.base, HTTP: &http.Client{Transport: c.transport}}
			if name == "no connection in time" || name == "another transport" {
				o.Timeout = 20 * time.Millisecond
			}
			_, err := newClient(t, o).Create(c.ctx, request)
			if got := batches.CauseOf(err); err == nil || got != c.want ||
				errors.Is(err, batches.ErrRefused) != (c.want == batches.Unsent) {
				t.Errorf("%s: %v, want %s", got, err, c.want)
			}
		})
	}
}
