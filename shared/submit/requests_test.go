package submit_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
	"github.com/opledger/opledger/test/harness"
)

// lines are requests with these keys, each as long as size.
func lines(size int, keys ...string) *bytes.Reader {
	var text bytes.Buffer
	for _, key := range keys {
		fmt.Fprintf(&text, `{"key":%q,"request":{"contents":[{"parts":[{"text":%q}]}]}}`+"\n\n", key,
			strings.Repeat("x", size))
	}
	return bytes.NewReader(text.Bytes())
}

func (w *world) requests(id string, of io.ReadSeeker) (submit.Submitted, error) {
	return w.submitter.Requests(w.t.Context(), operation.Submission{CorrelationID: id}, model, of, nil)
}

// TestRequests: requests are uploaded and submitted as a file, and their keys are in its results; in the gate they are
// more than a batch takes inside.
func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sim.Script("opledger:c", geminisim.Script{Hold: geminisim.StateSucceeded})
	var inline bool
	w.http.Transport = roundTripping{w.http.Transport, func(r *http.Request) {
		inline = inline || strings.Contains(r.URL.Path, "batchGenerateContent") && r.ContentLength > 1000
	}}
	size := 7 << 20
	if !harness.Thorough(t) {
		size = 3 << 20 // of which one is in the second piece of the upload
	}
	got, err := w.requests("c", lines(size, "review-1", "review-2", "review-3"))
	if err != nil || inline {
		t.Fatalf("%+v, %v, inside the batch %v", got, err, inline)
	}
	w.wantRegistered(got.Name)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: w.http, HTTPOptions: genai.HTTPOptions{BaseURL: w.url},
	})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := client.Batches.Get(t.Context(), got.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.Files.Download(t.Context(),
		genai.NewDownloadURIFromFile(&genai.File{DownloadURI: batch.Dest.FileName}), nil)
	for n := range 3 {
		if key := fmt.Sprintf(`"key":"review-%d"`, n+1); err != nil || !bytes.Contains(result, []byte(key)) {
			t.Errorf("no %s in %s, %v", key, result, err)
		}
	}
	// What is known to be submitted is not uploaded again.
	before := w.sim.Stats().APIRequests
	again, err := w.requests("c", lines(1, "review-1"))
	if n := w.sim.Stats().APIRequests; err != nil || !again.Known || n != before {
		t.Errorf("%+v, %v, %d requests", again, err, n-before)
	}
	if _, err := w.submitter.Requests(t.Context(), operation.Submission{}, model, lines(1, "a"), nil); err != nil {
		t.Error(err) // without an id
	}
}

// roundTripping sees each request.
type roundTripping struct {
	http.RoundTripper
	see func(*http.Request)
}

func (r roundTripping) RoundTrip(request *http.Request) (*http.Response, error) {
	r.see(request)
	return r.RoundTripper.RoundTrip(request)
}

// vast is a file that is a byte larger than Gemini takes. It is not read.
type vast struct{ io.ReadSeeker }

func (vast) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return 2<<30 + 1, nil
	}
	return 0, nil
}

// TestRequestsRefused: what is no request with a key of its own is refused, and nothing is sent; so are
// several requests inside a batch.
func TestRequestsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const one = `{"key":"a","request":{"contents":[{}]}}`
	for text, says := range map[string]string{
		"": "it has no requests", "\n \n": "it has no requests", "nonsense": "line 1: it is not",
		`{"request":{"contents":[{}]}}`:          "line 1: it has no key",
		`{"key":"","request":{"contents":[{}]}}`: "line 1: it has no key",
		`{"key":7,"request":{"contents":[{}]}}`:  "line 1: it is not",
		`{"key":"a"}`:                            "line 1: it has no request",
		`{"key":"a","request":{}}`:               "line 1: it has no request",
		`{"key":"a","contents":[{}]}`:            "unknown field",
		one + " {}":                              "something follows",
		one + "\n\n" + one:                       `line 3: its key "a" is also that of line 1`,
		one + "\n" + `{"key":"b","request":`:     "line 2: it is not",
		"x\n" + one + "\n{}\n" + one:             "3 lines are wrong\n  line 1: it is not",
		"x\n" + one + "\n\n" + one + "\n":        "\n  line 4: its key \"a\" is also that of line 2",
		strings.Repeat("x\n", 20):                "20 lines are wrong\n  line 1: ",
		strings.Repeat("x\n", 27):                "\n  and 7 more",
	} {
		_, err := w.requests("c", bytes.NewReader([]byte(text)))
		w.wantError(err, submit.ErrInput)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
	for length, says := range map[int]string{64 << 20: "it has no requests", 64<<20 + 1: "line 1: it has more than 6"} {
		_, err := w.requests("c", strings.NewReader(strings.Repeat(" ", length)))
		if w.wantError(err, submit.ErrInput); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a line of %d bytes: %v", length, err)
		}
	}
	_, err := w.requests("c", vast{})
	w.wantError(err, submit.ErrInput)
	_, err = w.submitter.Requests(t.Context(), operation.Submission{}, "", lines(1, "a"), nil)
	w.wantError(err, submit.ErrInput)
	_, err = w.submitter.Requests(t.Context(), operation.Submission{}, model, lines(1, "a"), &genai.CreateBatchJobConfig{
		HTTPOptions: &genai.HTTPOptions{BaseURL: "http://elsewhere"},
	})
	w.wantError(err, submit.ErrInput)
	inside := &genai.BatchJobSource{InlinedRequests: make([]*genai.InlinedRequest, 2)}
	_, err = w.submitter.Batch(t.Context(), operation.Submission{}, model, inside, nil)
	w.wantError(err, submit.ErrInput)
	if n := w.sim.Stats().APIRequests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	w.wantIntent("")
}

// TestRequestsNotUploaded: where the upload fails nothing is submitted, and no intent is left [G6].
func TestRequestsNotUploaded(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]geminisim.Answer{
		"refused": geminisim.ErrorAnswer(http.StatusForbidden, "no"), "not an answer": {Body: []byte(`{"file":7}`)},
	} {
		w := newWorld(t)
		w.sim.AnswerNext(geminisim.OpUpload, "", answer)
		_, err := w.requests("c", lines(1, "a"))
		if err == nil || !strings.Contains(err.Error(), "uploading ") {
			t.Errorf("%s: %v", what, err)
		}
		w.wantError(err)
		w.wantIntent("")
		if n := w.sim.Stats().Creates; n != 0 {
			t.Errorf("%s: %d were submitted", what, n)
		}
	}
	w := newWorld(t)
	w.registrar.intent = ledger.ErrUnavailable
	_, err := w.requests("c", lines(1, "a"))
	w.wantError(err, ledger.ErrUnavailable)
}
