package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
)

const session = "/upload/v1beta/files/the-secret-of-the-session?upload_protocol=resumable"

// sessions starts an upload at an address, which may be a path, and answers its commands.
func sessions(at string, command http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goog-Upload-Command") != "start" {
			command(w, r)
			return
		}
		if strings.HasPrefix(at, "/upload") {
			at = "http://" + r.Host + at
		}
		w.Header().Set("X-Goog-Upload-Url", at)
		w.Header().Set("X-Goog-Upload-Chunk-Granularity", "4")
	}
}

// upload starts an upload of 10 bytes.
func upload(ctx context.Context, c *api.Client) (*api.Upload, error) {
	return c.StartUpload(ctx, "text/plain", 10, map[string]string{"a": "b"})
}

// TestUpload: the requests of a session, and what each answer says.
func TestUpload(t *testing.T) {
	t.Parallel()
	var says answers
	client := serve(t, says.answer)
	u, err := upload(t.Context(), client)
	if err != nil || u.Granularity != 4 {
		t.Fatal(u, err)
	}
	var got struct{ A string }
	send := func(offset int64, piece string, last bool) func() error {
		return func() error { return u.Send(t.Context(), offset, []byte(piece), last, &got) }
	}
	query := func(received int64, final bool) func() error {
		return func() error { return wantQuery(t, u, received, final) }
	}
	for _, c := range []struct {
		status, received, answer string
		call                     func() error
		says                     string // empty: no error
	}{
		{"active", "", "", send(0, "1234", false), ""},
		{"final", "", `{"a":"b"}`, send(4, "56", true), ""},
		{"final", "", `{}`, send(0, "", true), ""},
		{"final", "", `{}`, send(0, "", false), `is "final", not active`},
		{"active", "", ``, send(0, "", true), `is "active", not final`},
		{"cancelled", "", ``, send(0, "", false), `is "cancelled"`},
		{"", "", ``, send(0, "", false), `no upload status`},
		{"final", "", `[]`, send(0, "", true), `not a JSON object`},
		{"active", "4", "", query(4, false), ""},
		{"final", "", "{}", query(0, true), ""},
		{"active", "", "", query(0, false), "no number of bytes"},
		{"active", "-1", "", query(0, false), "no number of bytes"},
		{"cancelled", "4", "", query(0, false), `is "cancelled"`},
		{"", "4", "", query(0, false), `no upload status`},
	} {
		says.status, says.received, says.body = c.status, c.received, c.answer
		err := c.call()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			errors.Is(err, api.ErrInterrupted) != (c.status == "") {
			t.Errorf("%q %q: %v, want %q", c.status, c.answer, err, c.says)
		}
	}
	if got.A != "b" {
		t.Errorf("read %+v", got)
	}
	want := []string{
		`POST/upload/v1beta/files [start] [] [10] [text/plain] 9{"a":"b"}`, `POST` + session + ` [upload] [0] [] [] 41234`,
		`POST` + session + ` [upload, finalize] [4] [] [] 256`, `POST` + session + ` [upload, finalize] [0] [] [] 0`,
	}
	if diff := cmp.Diff(want, says.asked[:4]); diff != "" || says.asked[9] != `POST`+session+` [query] [] [] [] 0` {
		t.Errorf("queried with %s; -want +got\n%s", says.asked[9], diff)
	}
}

// answers is what a session says of each command, and what it was asked.
type answers struct {
	status, received, body string
	asked                  []string
}

func (a *answers) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h := r.Header
	a.asked = append(a.asked, fmt.Sprint(r.Method, r.URL, h["X-Goog-Upload-Command"], h["X-Goog-Upload-Offset"],
		h["X-Goog-Upload-Header-Content-Length"], h["X-Goog-Upload-Header-Content-Type"], r.ContentLength, string(body)))
	if h.Get("X-Goog-Api-Key") != apiKey {
		a.asked = append(a.asked, "without the key")
	}
	w.Header().Set("X-Goog-Upload-Status", a.status)
	w.Header().Set("X-Goog-Upload-Size-Received", a.received)
	sessions(session, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, a.body) })(w, r)
}

func wantQuery(t *testing.T, u *api.Upload, received int64, final bool) error {
	t.Helper()
	gotReceived, gotFinal, err := u.Query(t.Context(), &struct{}{})
	if gotReceived != received || gotFinal != final {
		t.Errorf("%d %v, want %d %v", gotReceived, gotFinal, received, final)
	}
	return err
}

// TestUploadElsewhere: a session at another host is none, and is not sent the key.
func TestUploadElsewhere(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host is sent %v", r.Header)
	}))
	t.Cleanup(other.Close)
	for _, at := range []string{
		other.URL + "/x", "https://evil.example/x", "", "files", "http://", "http://%zz",
	} {
		client := serve(t, sessions(at, nil))
		if u, err := upload(t.Context(), client); err == nil || u != nil || strings.Contains(err.Error(), apiKey) {
			t.Errorf("%q: %v, %v", at, u, err)
		}
	}
	for at, same := range map[string]bool{
		"https://GEMINI.example/x": true, "https://gemini.example:443/x": true, "http://gemini.example/x": false,
		"//gemini.example/x": false, "https://gemini.example:444/x": false, "https://gemini.example.evil.example/x": false,
		"https://gemini.example@evil.example/x": false,
	} {
		_, err := upload(t.Context(), without(t, "https://gemini.example", sessions(at, nil)))
		if (err == nil) != same {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// without returns a client whose requests handler answers without a network, beside t's own goroutine.
func without(t *testing.T, base string, handler http.HandlerFunc) *api.Client {
	t.Helper()
	client, err := api.New(api.Options{APIKey: apiKey, BaseURL: base, HTTP: &http.Client{Transport: inProcess(handler)}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type inProcess http.HandlerFunc

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// TestUploadKeepsSession: neither an error nor a printed upload has the session's address or the key.
func TestUploadKeepsSession(t *testing.T) {
	t.Parallel()
	telling := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "you asked for "+r.URL.String()+" with "+r.Header.Get("X-Goog-Api-Key"))
	}
	breaking := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, command := range []http.HandlerFunc{telling, breaking} {
		u, err := upload(t.Context(), serve(t, sessions(session, command)))
		if err != nil {
			t.Fatal(err)
		}
		err = u.Send(t.Context(), 0, []byte("1"), true, &struct{}{})
		if said := fmt.Sprintf("%v %v %+v %#v %+v", err, u, u, u, []any{u}); err == nil ||
			strings.Contains(said, "the-secret") || strings.Contains(said, apiKey) {
			t.Error(said)
		}
	}
}

// TestUploadThroughProxy: the password of the base URL goes to the session, too.
func TestUploadThroughProxy(t *testing.T) {
	t.Parallel()
	client := without(t, "https://alice:hunter2@gemini.example", sessions("https://gemini.example/x",
		func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "alice" || password != "hunter2" {
				t.Errorf("sent with %q, %q", user, password)
			}
			w.Header().Set("X-Goog-Upload-Status", "active")
		}))
	u, err := upload(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Send(t.Context(), 0, []byte("1234"), false, &struct{}{}); err != nil {
		t.Error(err)
	}
}

// TestUploadStalls: a piece that is taken slowly may last, and one that is not ends after 2 minutes, as a
// lost connection does. The caller's own end is another thing.
func TestUploadStalls(t *testing.T) {
	t.Parallel()
	piece := bytes.Repeat([]byte("x"), 1<<20)
	slow := func(w http.ResponseWriter, r *http.Request) {
		for part := make([]byte, 64<<10); ; time.Sleep(time.Minute) {
			if _, err := r.Body.Read(part); err != nil {
				break
			}
		}
		w.Header().Set("X-Goog-Upload-Status", "active")
	}
	stuck := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = r.Body.Read(make([]byte, 10))
		<-r.Context().Done()
	}
	for name, c := range map[string]struct {
		command http.HandlerFunc
		within  time.Duration // of the caller
		took    time.Duration
		want    error
	}{
		"slow":     {slow, time.Hour, 16 * time.Minute, nil},
		"stuck":    {stuck, time.Hour, 2 * time.Minute, api.ErrInterrupted},
		"given up": {stuck, time.Minute, time.Minute, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				u, err := upload(ctx, without(t, "http://localhost", sessions("http://localhost/x", c.command)))
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				err = u.Send(ctx, 0, piece, false, &struct{}{})
				if took := time.Since(began); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
				if stalled := err != nil && strings.Contains(err.Error(), "no byte was taken"); stalled != (name == "stuck") {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
