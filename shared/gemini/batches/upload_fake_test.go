package batches_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/opledger/opledger/shared/gemini/batches"
)

// inProcess answers requests without a network, so that a test may play with time.
type inProcess http.HandlerFunc

// RoundTrip implements http.RoundTripper.
func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

var errBroken = errors.New("the connection broke")

// A fault is what goes wrong with a request of a session.
type fault struct {
	taken  int  // how much of the piece arrives all the same; -1: all of it
	final  bool // and the upload is made final, where the request asks for it
	status int  // of the answer; 0: it is lost
}

// fake is Gemini's side of one upload. It is used by one goroutine at a time.
type fake struct {
	content     bytes.Buffer
	final       bool
	granularity string
	file        string           // what the file is in the last answer; empty: what it should be
	received    func(n int) int  // what a query says of n bytes; nil: the truth
	faults      map[int]fault    // by the number of the request behind the start, from 1
	asked       []string         // command, offset and length of each
	then        func(number int) // called behind each request
}

func (f *fake) client(t *testing.T) *batches.Client {
	t.Helper()
	return newClient(t, batches.Options{BaseURL: "https://gemini.example", HTTP: &http.Client{Transport: f}})
}

// RoundTrip implements http.RoundTripper.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	command := r.Header.Get("X-Goog-Upload-Command")
	if command == "start" {
		w.Header().Set("X-Goog-Upload-Url", "https://gemini.example/upload/v1beta/files?upload_id=x")
		w.Header().Set("X-Goog-Upload-Chunk-Granularity", f.granularity)
		return w.Result(), nil
	}
	piece := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, piece); err != nil {
		return nil, err
	}
	offset := r.Header.Get("X-Goog-Upload-Offset")
	f.asked = append(f.asked, fmt.Sprintf("%s %s+%d", command, offset, len(piece)))
	number := len(f.asked)
	if f.then != nil {
		defer f.then(number)
	}
	broken, faulty := f.faults[number]
	if command != "query" {
		if offset != strconv.Itoa(f.content.Len()) || f.final {
			w.WriteHeader(http.StatusBadRequest)
			return w.Result(), nil
		}
		if faulty && broken.taken >= 0 {
			piece = piece[:broken.taken]
		}
		_, _ = f.content.Write(piece)
		f.final = command == "upload, finalize" && (!faulty || broken.final)
	}
	switch {
	case faulty && broken.status == 0:
		return nil, errBroken
	case faulty:
		w.WriteHeader(broken.status)
	default:
		f.answer(w, command)
	}
	return w.Result(), nil
}

// answer answers a command that went well.
func (f *fake) answer(w http.ResponseWriter, command string) {
	if command == "query" {
		n := f.content.Len()
		if f.received != nil {
			n = f.received(n)
		}
		w.Header().Set("X-Goog-Upload-Size-Received", strconv.Itoa(n))
	}
	w.Header().Set("X-Goog-Upload-Status", map[bool]string{true: "final", false: "active"}[f.final])
	if f.final {
		file := f.file
		if file == "" {
			file = fmt.Sprintf(`{"name":"files/a-1","sizeBytes":"%d","expirationTime":"2026-01-24T12:00:00.5Z"}`,
				f.content.Len())
		}
		_, _ = io.WriteString(w, `{"file":`+file+`}`)
	}
}
