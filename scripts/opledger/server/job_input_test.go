package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
)

// TestUpload: an input is uploaded, and its answer submits the job. Sent again it is known, without its body.
func TestUpload(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, digest, target := inputOf("a", "b", "c")
	w.wantsOffset(w.ask(http.MethodHead, target, nil), "0", "?0")
	r := w.ask(http.MethodPut, target, strings.NewReader(text))
	w.wants("the upload", r, http.StatusOK, "")
	w.wantsOffset(r, fmt.Sprint(len(text)), "?1")
	want := job.Input{
		SHA256: digest, Bytes: int64(len(text)), Requests: 3, Tokens: r.Input.Tokens,
		Object: files.Input("jobs/nightly", digest),
	}
	if r.Input != want || r.Input.Tokens == 0 || w.stored(want.Object) != text {
		t.Errorf("%+v, want %+v; stored %q", r.Input, want, w.stored(want.Object))
	}
	again := w.ask(http.MethodPut, target, iotest.ErrReader(errors.New("the body is read")))
	w.wants("again", again, http.StatusOK, "")
	if again.Input != want {
		t.Errorf("again: %+v", again.Input)
	}
	w.wantsOffset(w.ask(http.MethodHead, target, nil), fmt.Sprint(len(text)), "?1")
	w.wants("the job", w.submit(want), http.StatusCreated, "")
	w.wants("the same job", w.submit(want), http.StatusOK, "")
	w.server.Drain(t.Context())
	if r := w.ask(http.MethodGet, "/jobs/nightly", nil); r.Phase != job.Running {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

// TestUploadOfAnyForm: what the command takes is taken, in gzip too, and its requests are stored as canonical
// lines.
func TestUploadOfAnyForm(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	canonical, digest, _ := inputOf("a", "b")
	loose := strings.ReplaceAll(strings.ReplaceAll(canonical, `"key":`, `"custom_id" : `), "\n", "\r\n\n")
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, err := io.WriteString(pack, canonical)
	if err = errors.Join(err, pack.Close()); err != nil {
		t.Fatal(err)
	}
	for query, text := range map[string]string{"?keyField=custom_id": loose, "": packed.String()} {
		r := w.ask(http.MethodPut, "/jobs/nightly/input/"+digestOf(text)+query, strings.NewReader(text))
		w.wants(query, r, http.StatusOK, "")
		if r.Input.SHA256 != digest || r.Input.Requests != 2 || w.stored(r.Input.Object) != canonical {
			t.Errorf("%s: %+v", query, r.Input)
		}
	}
}

// TestUploadGoesOn: after a break the sender asks how much has arrived, and sends the rest.
func TestUploadGoesOn(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, _, target := inputOf("a", "b", "c")
	size := len(text)
	broken := io.MultiReader(strings.NewReader(text[:10]), iotest.ErrReader(io.ErrUnexpectedEOF))
	r := w.ask(http.MethodPut, target, broken)
	w.wants("broken", r, http.StatusBadRequest, "10 bytes have arrived")
	w.wantsOffset(r, "10", "?0")
	w.wantsOffset(w.ask(http.MethodHead, target, nil), "10", "?0")
	put := func(from, to int) jobsReply {
		return w.ask(http.MethodPut, target, strings.NewReader(text[from:to]), "Content-Range",
			fmt.Sprintf("bytes %d-%d/%d", from, to-1, size))
	}
	r = put(20, 30)
	w.wants("a gap", r, http.StatusConflict, "10 bytes have arrived")
	w.wantsOffset(r, "10", "?0")
	r = put(10, 20)
	w.wants("the next", r, http.StatusAccepted, "")
	w.wantsOffset(r, "20", "?0")
	short := w.ask(http.MethodPut, target, strings.NewReader(text[20:25]), "Content-Range",
		fmt.Sprintf("bytes 20-%d/%d", size-1, size))
	w.wants("less than it says", short, http.StatusBadRequest, "25 bytes have arrived")
	stopped, stop := context.WithCancel(t.Context())
	stopping := effect.WithStop(t.Context(), stopped)
	r = w.askIn(stopping, http.MethodPut, target, io.MultiReader(atEnd(stop), strings.NewReader(text[25:])),
		"Content-Range", fmt.Sprintf("bytes 25-%d/%d", size-1, size))
	w.wants("stopped before it is stored", r, http.StatusServiceUnavailable, "")
	w.wantsOffset(w.ask(http.MethodHead, target, nil), fmt.Sprint(size), "?0")
	for range 2 { // the second time it is stored, and its answer was lost
		r = w.ask(http.MethodPut, target, nil, "Content-Range", fmt.Sprintf("bytes */%d", size))
		w.wants("all is there", r, http.StatusOK, "")
		if w.stored(r.Input.Object) != text {
			t.Errorf("%+v", r.Input)
		}
	}
}

// TestUploadWithoutItsSender: where the sender does not wait for the input to be stored, it is stored all the
// same.
func TestUploadWithoutItsSender(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, _, target := inputOf("a")
	request, leave := context.WithCancel(t.Context())
	w.askIn(request, http.MethodPut, target, io.MultiReader(strings.NewReader(text), atEnd(leave)))
	w.wantsOffset(w.ask(http.MethodHead, target, nil), fmt.Sprint(len(text)), "?1")
}

// TestUploadAgain: without a range all is sent, in place of what has arrived.
func TestUploadAgain(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, _, target := inputOf("a")
	w.ask(http.MethodPut, target, io.MultiReader(strings.NewReader("xxxx"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	w.wants("again", w.ask(http.MethodPut, target, strings.NewReader(text)), http.StatusOK, "")
}

// atEnd is an empty reader that calls do when it is read.
type atEnd func()

func (do atEnd) Read([]byte) (int, error) {
	do()
	return 0, io.EOF
}

// TestUploadRefused: what cannot be an input is refused with all that is wrong, and deleted.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, _, target := inputOf("a")
	r := w.ask(http.MethodPut, target, strings.NewReader(text+"x"))
	w.wants("another sum", r, http.StatusBadRequest, "another SHA-256")
	w.wantsOffset(r, "0", "?0")
	w.wantsOffset(w.ask(http.MethodHead, target, nil), "0", "?0")
	wrong := line("a") + line("a") + "{\n" + strings.Repeat("7\n", 30)
	r = w.ask(http.MethodPut, "/jobs/nightly/input/"+digestOf(wrong), strings.NewReader(wrong))
	w.wants("wrong lines", r, http.StatusBadRequest, "input:2: key: ")
	if len(r.Error.Problems) != 21 || !strings.HasPrefix(r.Error.Problems[20], "12 more problems") {
		t.Errorf("%q", r.Error.Problems)
	}
	w.wantsOffset(w.ask(http.MethodHead, "/jobs/nightly/input/"+digestOf(wrong), nil), "0", "?0")
	cut := "\x1f\x8b" + strings.Repeat("x", 100<<10)
	w.wants("a broken gzip", w.ask(http.MethodPut, "/jobs/nightly/input/"+digestOf(cut), strings.NewReader(cut)),
		http.StatusBadRequest, "gzip")
	for _, c := range []struct{ target, header, says string }{
		{"/jobs/_x/input/" + digestOf(text), "", "a job's id is"},
		{"/jobs/x/input/ABC", "", "64 hexadecimal digits"},
		{target + "?key=x", "", "the only one is keyField"},
		{target, "bytes 0-1", "bytes FROM-TO/SIZE"}, {target, "bytes 5-4/9", "names no bytes"},
		{target, "bytes 5-9/9", "names no bytes"}, {target, "bytes 0-1/9999999999999999999", "bytes FROM-TO/SIZE"},
	} {
		for _, method := range []string{http.MethodPut, http.MethodHead} {
			r := w.ask(method, c.target, strings.NewReader(text), "Content-Range", c.header)
			w.wants(method+" "+c.target+" "+c.header, r, http.StatusBadRequest, c.says)
		}
	}
	w.wants("too large", w.ask(http.MethodPut, target, strings.NewReader("x"), "Content-Range",
		fmt.Sprintf("bytes 0-0/%d", maxUpload+1)), http.StatusRequestEntityTooLarge, "make several jobs")
	w.wants("another method", w.ask(http.MethodDelete, target, nil), http.StatusMethodNotAllowed, "")
	w.server.uploads, w.server.jobs = nil, nil
	w.wants("no storage", w.ask(http.MethodPut, target, strings.NewReader(text)), http.StatusServiceUnavailable,
		"OPLEDGER_JOB_STORAGE")
}

// TestUploadsAtOnce: one request at a time adds to an upload, and a few in all; the others may try again.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	text, _, target := inputOf("a")
	during := func(ids ...string) jobsReply {
		for _, id := range ids {
			release, err := upload{uploads: w.server.uploads, key: "jobs/nightly", sha256: id}.begin()
			if err != nil {
				t.Fatal(err)
			}
			defer release()
		}
		return w.ask(http.MethodPut, target, strings.NewReader(text))
	}
	for _, ids := range [][]string{{digestOf(text)}, {"1", "2", "3", "4"}} {
		r := during(ids...)
		w.wants(fmt.Sprint(ids), r, http.StatusServiceUnavailable, "another upload is under way")
		if r.Header().Get("Retry-After") == "" {
			t.Error(r.Header())
		}
	}
	w.wants("three others", during("1", "2", "3"), http.StatusOK, "")
}

// TestUploadsExpire: what no job has a day later is deleted, and nothing else.
func TestUploadsExpire(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	put := func(keys ...string) (job.Input, string) {
		text, _, target := inputOf(keys...)
		return w.ask(http.MethodPut, target, strings.NewReader(text)).Input, target
	}
	left, _ := put("left")
	submitted, again := put("submitted")
	w.wants("the job", w.submit(submitted), http.StatusCreated, "")
	_, _, part := inputOf("part")
	w.ask(http.MethodPut, part, io.MultiReader(strings.NewReader("xx"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	w.aged()
	young, _ := put("young")
	w.server.expire(t.Context())
	for object, want := range map[string]bool{left.Object: false, submitted.Object: true, young.Object: true} {
		if got := w.stored(object) != ""; got != want {
			t.Errorf("%s is there: %v, want %v", object, got, want)
		}
	}
	w.wantsOffset(w.ask(http.MethodHead, part, nil), "0", "?0")
	entries, err := os.ReadDir(w.server.uploads.folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	text, _, _ := inputOf("submitted")
	w.wants("it is known all the same", w.ask(http.MethodPut, again, strings.NewReader(text)), http.StatusOK, "")
}

// TestSlowUpload: an upload may take hours, while each minute brings a megabyte [G7].
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.Header().Set("Connection", "close")
	body := io.NopCloser(iotest.OneByteReader(bytes.NewReader(make([]byte, 5*uploadPace/2))))
	began := time.Now()
	n, err := io.Copy(io.Discard, &slowBody{
		ReadCloser: body, connection: http.NewResponseController(d), answer: d.Header(),
	})
	if err != nil || n != 5*uploadPace/2 || len(d.set) != 4 || d.Header().Get("Connection") != "" {
		t.Fatalf("%d bytes, %v; %v, %v", n, err, d.set, d.Header())
	}
	for _, at := range d.set[:3] {
		if after := at.Sub(began); after < uploadTime || after > uploadTime+30*time.Second {
			t.Errorf("cut off after %v", after)
		}
	}
	if !d.set[3].IsZero() {
		t.Errorf("the connection ends at %v", d.set[3])
	}
}
