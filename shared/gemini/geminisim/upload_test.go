package geminisim_test

import (
	"bytes"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// upload sends a file through the SDK.
func upload(t *testing.T, client *genai.Client, content string) *genai.File {
	t.Helper()
	file, err := client.Files.Upload(t.Context(), strings.NewReader(content),
		&genai.UploadFileConfig{MIMEType: "application/jsonl", DisplayName: "reviews"})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestUpload: a batch of an uploaded file has the keys of its requests in its results.
func TestUpload(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	file := upload(t, client, `{"key":"review-1","request":{"contents":[]}}`+"\n\n"+`{"request":{"contents":[]}}`)
	got, err := client.Files.Get(t.Context(), file.Name, nil)
	if err != nil || got.Name != file.Name || got.DisplayName != "reviews" || got.MIMEType != "application/jsonl" ||
		got.State != genai.FileStateActive || *got.SizeBytes != 73 {
		t.Errorf("%+v, %v", got, err)
	}
	sim.Script("job", geminisim.Script{Hold: geminisim.StateSucceeded})
	job, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name},
		&genai.CreateBatchJobConfig{DisplayName: "job"})
	if err != nil {
		t.Fatal(err)
	}
	results, err := client.Files.Download(t.Context(),
		genai.NewDownloadURIFromFile(&genai.File{DownloadURI: job.Dest.FileName}), nil)
	lines := bytes.Split(bytes.TrimSpace(results), []byte("\n"))
	if err != nil || len(lines) != 2 || !bytes.Contains(lines[0], []byte(`{"key":"review-1","response":{`)) ||
		!bytes.Contains(lines[1], []byte(`{"response":{`)) {
		t.Errorf("%s, %v", results, err)
	}
}

// TestUploadWithoutKey: the key starts an upload; the URL of its session is secret enough for the rest.
func TestUploadWithoutKey(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{})
	defer sim.Close()
	send := func(path, command, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader("{}"))
		for name, value := range map[string]string{
			"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": "0",
			"X-Goog-Api-Key": key, "Content-Type": "application/json",
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		sim.Handler().ServeHTTP(w, r)
		return w
	}
	if got := send("/upload/v1beta/files", "start", "").Code; got != 403 {
		t.Errorf("without a key it starts with %d", got)
	}
	session := send("/upload/v1beta/files", "start", "key").Header().Get("X-Goog-Upload-URL")
	if got := send(session, "upload, finalize", ""); got.Code != 200 || !strings.Contains(got.Body.String(), `"files/`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestUploadInChunks: a file comes in several requests, and is one.
func TestUploadInChunks(t *testing.T) {
	t.Parallel()
	_, client, _ := serve(t, geminisim.Config{})
	const size = 9 << 20 // the SDK sends 8 MiB at once
	file := upload(t, client, strings.Repeat("x", size))
	if *file.SizeBytes != size {
		t.Errorf("%d bytes", *file.SizeBytes)
	}
	_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
	if err == nil || !strings.Contains(err.Error(), "request 1 of the file") {
		t.Errorf("a batch of what is no list of requests: %v", err)
	}
}

// TestUploadAnswers: only the answer to the last piece has a body, and only the last piece may have any
// size.
func TestUploadAnswers(t *testing.T) {
	t.Parallel()
	sim, _, _ := serve(t, geminisim.Config{})
	send := func(path, command string, offset int, content string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(content))
		for name, value := range map[string]string{
			"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": command,
			"X-Goog-Upload-Offset": strconv.Itoa(offset), "X-Goog-Api-Key": "key",
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		return w
	}
	started := send("/upload/v1beta/files", "start", 0, "{}")
	piece, err := strconv.Atoi(started.Header().Get("X-Goog-Upload-Chunk-Granularity"))
	if err != nil || started.Code != 200 || started.Body.Len() != 0 {
		t.Fatalf("the start is answered %d %q, %v", started.Code, started.Body, err)
	}
	session := started.Header().Get("X-Goog-Upload-URL")
	if w := send(session, "upload", 0, strings.Repeat("x", piece-1)); w.Code != 400 {
		t.Errorf("a piece of another size is answered %d %s", w.Code, w.Body)
	}
	if w := send(session, "upload", 0, strings.Repeat("x", piece)); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("a piece is answered %d %q", w.Code, w.Body)
	}
	if w := send(session, "upload, finalize", piece, "x"); w.Code != 200 || !strings.Contains(w.Body.String(), `"files/`) {
		t.Errorf("the last piece is answered %d %q", w.Code, w.Body)
	}
}

// TestUploadRefusals: what is no upload of the SDKs is refused, and a name is given once.
func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	if w := call(t, sim, "POST", "/upload/v1beta/files", `{}`); w.Code != 400 {
		t.Errorf("another protocol: %d %s", w.Code, w.Body)
	}
	if w := call(t, sim, "POST", "/upload/v1beta/files/x", ``); w.Code != 404 {
		t.Errorf("a session that was not started: %d %s", w.Code, w.Body)
	}
	if w := call(t, sim, "GET", "/v1beta/files/x", ``); w.Code != 403 {
		t.Errorf("a file that was not uploaded: %d %s", w.Code, w.Body)
	}
	config := &genai.UploadFileConfig{MIMEType: "text/plain", Name: "files/mine"}
	if _, err := client.Files.Upload(t.Context(), strings.NewReader("x"), config); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Files.Upload(t.Context(), strings.NewReader("x"), config); err == nil ||
		!strings.Contains(err.Error(), "already exists") {
		t.Errorf("the same name again: %v", err)
	}
}

// TestFaultsOfAFile: what an uploaded file is comes through the same door as every other answer.
func TestFaultsOfAFile(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	config := &genai.UploadFileConfig{MIMEType: "text/plain", Name: "files/mine"}
	if _, err := client.Files.Upload(t.Context(), strings.NewReader("x"), config); err != nil {
		t.Fatal(err)
	}
	sim.AnswerNext(geminisim.OpFileGet, "files/mine", geminisim.ErrorAnswer(503, "later"))
	for _, want := range []int{503, 200} {
		if w := call(t, sim, "GET", "/v1beta/files/mine", ``); w.Code != want {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
	}
	faulty, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{APIErrors: 1}})
	if _, err := client.Files.Upload(t.Context(), strings.NewReader("x"), config); err != nil {
		t.Fatal(err)
	}
	if w := call(t, faulty, "GET", "/v1beta/files/mine", ``); w.Code < 500 || faulty.Stats().APIErrors == 0 {
		t.Errorf("where each read fails: %d %s, %d errors", w.Code, w.Body, faulty.Stats().APIErrors)
	}
}

// TestBatchOfAnUnfinishedUpload: a file whose last bytes did not come is no input of a batch.
func TestBatchOfAnUnfinishedUpload(t *testing.T) {
	t.Parallel()
	sim, _, _ := serve(t, geminisim.Config{})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/upload/v1beta/files",
		strings.NewReader(`{"file":{"name":"files/mine"}}`))
	r.Header.Set("X-Goog-Api-Key", "key")
	r.Header.Set("X-Goog-Upload-Protocol", "resumable")
	r.Header.Set("X-Goog-Upload-Command", "start")
	w := httptest.NewRecorder()
	if sim.ServeHTTP(w, r); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w = call(t, sim, "POST", "/v1beta/models/m:batchGenerateContent",
		`{"batch":{"displayName":"job","inputConfig":{"fileName":"files/mine"}}}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "not uploaded yet") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
