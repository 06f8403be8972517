package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/test/harness"
)

// A jobsWorld is a server with job storage beside its file, whose routes are called in the process.
type jobsWorld struct {
	*testing.T
	server *Server
	log    *harness.Log
	folder string // of the ledger, its jobs and its uploads
}

func newJobsWorld(t *testing.T, more ...string) *jobsWorld {
	t.Helper()
	w := &jobsWorld{T: t, log: &harness.Log{}, folder: t.TempDir()}
	path := filepath.Join(w.folder, "ledger.db")
	s, unused := open(t, path, "http://127.0.0.1:1", Options{
		Location: config.Store{SQLite: path}, Log: slog.New(slog.NewJSONHandler(w.log, nil)),
	}, more...)
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	w.server = s
	return w
}

// A jobsReply is the answer to a request about a job.
type jobsReply struct {
	*httptest.ResponseRecorder
	Input job.Input
	Phase job.Phase
	Error struct {
		Message, Reason string
		Problems        []string
	}
}

// ask sends a request; header has names and values in turn.
func (w *jobsWorld) ask(method, target string, body io.Reader, header ...string) jobsReply {
	w.Helper()
	return w.askIn(w.Context(), method, target, body, header...)
}

func (w *jobsWorld) askIn(
	ctx context.Context, method, target string, body io.Reader, header ...string,
) jobsReply {
	w.Helper()
	r := httptest.NewRequestWithContext(ctx, method, target, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	reply := jobsReply{ResponseRecorder: httptest.NewRecorder()}
	w.server.inside.ServeHTTP(reply.ResponseRecorder, r)
	if strings.HasPrefix(reply.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(reply.Body.Bytes(), &reply); err != nil {
			w.Fatalf("%s %s: %s: %v", method, target, reply.Body, err)
		}
	}
	return reply
}

// wants checks a reply's status and, of an error, a part of its message.
func (w *jobsWorld) wants(what string, r jobsReply, status int, says string) {
	w.Helper()
	if r.Code != status || !strings.Contains(r.Error.Message, says) {
		w.Errorf("%s: %d %s, want %d %s", what, r.Code, r.Body, status, says)
	}
}

// wantsOffset checks how many bytes a reply says have arrived, and whether the input is stored.
func (w *jobsWorld) wantsOffset(r jobsReply, offset, complete string) {
	w.Helper()
	if r.Header().Get("Upload-Offset") != offset || r.Header().Get("Upload-Complete") != complete {
		w.Errorf("%d %v, want offset %s, complete %s", r.Code, r.Header(), offset, complete)
	}
}

// stored returns an object of job storage; empty where there is none.
func (w *jobsWorld) stored(name string) string {
	w.Helper()
	content, err := w.server.jobs.Read(w.Context(), name, 0, -1)
	if err != nil {
		return ""
	}
	defer content.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(content)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// line is a canonical line of an input.
func line(key string) string {
	return `{"key":"` + key + `","request":{"contents":[{"role":"user","parts":[{"text":"` + key + `"}]}]}}` + "\n"
}

func inputOf(keys ...string) (text, digest, target string) {
	for _, key := range keys {
		text += line(key)
	}
	digest = digestOf(text)
	return text, digest, "/jobs/nightly/input/" + digest
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// submit submits a job of a stored input.
func (w *jobsWorld) submit(input job.Input) jobsReply {
	w.Helper()
	text, err := json.Marshal(map[string]any{"model": "gemini-3.5-flash", "input": input})
	if err != nil {
		w.Fatal(err)
	}
	return w.ask(http.MethodPost, "/jobs/nightly", strings.NewReader(string(text)))
}
