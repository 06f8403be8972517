package results_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

const odd = `{"message":"opledger: the item cannot be used: `

// lines are what may stand in a result, one a line, and what is made of it.
var lines = []struct{ text, want string }{
	{`{"key":"a","response":{"x":1}}`, `0 a: response {"x":1}`},
	{`{"key":"b","error":{"code":13}}`, `1 b: error {"code":13}`},
	{`null`, `2 index-2: error ` + odd + `it is null"}`},
	{`{"key":"a","response":{"x":2}}`, `3 a~3: response {"x":2}`},
	{`{"response":{"x":3}}`, `4 index-4: response {"x":3}`},
	{`{"key":17,"response":{}}`, `5 17: response {}`},
	{`{"key":"a~3","response":{}}`, `6 a~3~6: response {}`},
	{`{"key":"index-2","response":[]}`, `7 index-2~7: response []`},
	{`{"key":"c","response":null,"error":null}`, `8 c: error ` + odd + `it has neither a response nor an error"}`},
	{`{"key":{},"metadata":{"key":"m"},"response":"text"}`, `9 m: response "text"`},
	{`{"key":"","metadata":"x","response":1}`, `10 index-10: response 1`},
	{`{"key":"both","response":1,"error":2}`, `11 both: error 2`},
	{`["key"]`, `12 index-12: error ` + odd + `it is not a JSON object"}`},
	{`{"key":"a","response":4}`, `13 a~13: response 4`},
}

func wants(from int) (want []string) {
	for _, line := range lines[from:] {
		want = append(want, line.want)
	}
	return want
}

func texts() (all []string) {
	for _, line := range lines {
		all = append(all, line.text)
	}
	return all
}

// TestFile: every kind of line, from every place on, with the same keys each time [K4].
func TestFile(t *testing.T) {
	t.Parallel()
	all := strings.Join(texts(), "\n")
	for name, text := range map[string]string{
		"lines": all, "an end of line behind the last": all + "\n", "blank lines": "\r\n\n" + strings.ReplaceAll(all, "\n", "\r\n \n"),
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() != "/v1beta/"+file+":download?alt=media" || r.Header.Get("X-Goog-Api-Key") != apiKey {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = io.WriteString(w, text)
		})
		for from := range lines {
			got, err := read(client, operation.Result{OutputFile: file}, int64(from))
			if diff := cmp.Diff(wants(from), show(got)); err != nil || diff != "" {
				t.Errorf("%s from %d: %v %s", name, from, err, diff)
			}
		}
		if _, err := read(client, operation.Result{OutputFile: file}, int64(len(lines))+1); !errors.Is(err, io.EOF) {
			t.Errorf("skipping beyond the end: %v, want io.EOF", err)
		}
	}
}

// TestNotJSON: a line that is not JSON is an item all the same; the others are what they are.
func TestNotJSON(t *testing.T) {
	t.Parallel()
	client := serve(t, says("{\"key\":\"a\",\"resp\n<html>\n{\"key\":\"b\",\"response\":1}\n\xff\x00"))
	got, err := read(client, operation.Result{OutputFile: file}, 0)
	broken := odd + `it is not a JSON object"}`
	want := []string{"0 index-0: error " + broken, "1 index-1: error " + broken, "2 b: response 1", "3 index-3: error " + broken}
	if diff := cmp.Diff(want, show(got)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestInline: the same items in the batch itself, wherever in it they stand first.
func TestInline(t *testing.T) {
	t.Parallel()
	list := `{"inlinedResponses":{"inlinedResponses":[` + strings.Join(texts(), ",\n") + `]}}`
	for name, body := range map[string]string{
		"in metadata":  `{"name":"batches/abc","metadata":{"x":[{}],"output":` + list + `},"done":true,"response":` + list + `}`,
		"in response":  `{"response":` + list + `}`,
		"empty before": `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[]}}},"response":` + list + `}`,
		"null before":  `{"metadata":{"inputConfig":{"requests":{"requests":[[[]],{}]}},"output":null},"response":` + list + `}`,
		"embeddings":   `{"response":` + strings.ReplaceAll(list, "inlinedResponses", "inlinedEmbedContentResponses") + `}`,
	} {
		client := serve(t, says(body))
		for _, from := range []int{0, 3, len(lines)} {
			got, err := read(client, operation.Result{Inline: true}, int64(from))
			if diff := cmp.Diff(wants(from), show(got)); err != nil || diff != "" {
				t.Errorf("%s from %d: %v %s", name, from, err, diff)
			}
		}
	}
}

// TestFileThatTheBatchNames: a record that does not say where the results are.
func TestFileThatTheBatchNames(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1beta/batches/abc" {
			_, _ = io.WriteString(w, `{"metadata":{"output":{"responsesFile":"`+file+`"}}}`)
			return
		}
		_, _ = io.WriteString(w, lines[0].text)
	})
	if got, err := read(client, operation.Result{}, 0); err != nil || len(got) != 1 {
		t.Errorf("%v %v", show(got), err)
	}
}

// TestNames: where a file may be said to be, and what is none.
func TestNames(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/"+file+":download" {
			http.Error(w, r.URL.Path, http.StatusTeapot)
		}
	})
	for name, ok := range map[string]bool{
		file: true, "/" + file: true, file + ":download?alt=media": true,
		"https://generativelanguage.googleapis.com/v1beta/" + file + ":download?alt=media": true,
		"gs://bucket/results.jsonl": false, "files/": false, "files/..": false, "files/a/b": false, "files/a%2f": false, "files/a b": false,
	} {
		_, err := read(client, operation.Result{OutputFile: name}, 0)
		if ok && err != nil || !ok && !errors.Is(err, results.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, other := range []operation.Key{"operations/v", "interactions/i", "batches/a/b", "x"} {
		if _, err := client.Open(t.Context(), other, operation.Result{OutputFile: file}); !errors.Is(err, results.ErrNone) {
			t.Errorf("%s: %v, want ErrNone", other, err)
		}
	}
}

// TestRefused: which answers say that the results are lost, and which may pass.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, batch int // the answers to the download and to the batch
		inline      bool
		lost        bool
	}{
		{file: 404, lost: true}, {file: 410, lost: true},
		{file: 403, batch: 200, lost: true}, {file: 403, batch: 404, lost: true},
		{file: 403, batch: 403}, {file: 403, batch: 401}, {file: 403, batch: 503}, // the key, not the file
		{file: 429}, {file: 500}, {file: 503}, {file: 400}, {file: 401}, {file: 302}, {file: 204},
		{inline: true, batch: 404, lost: true}, {inline: true, batch: 410, lost: true},
		{inline: true, batch: 403}, {inline: true, batch: 429}, {inline: true, batch: 503},
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			status := c.batch
			if strings.Contains(r.URL.Path, "/files/") {
				status = c.file
			}
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			if status != http.StatusNoContent {
				_, _ = io.WriteString(w, "no, "+r.Header.Get("X-Goog-Api-Key"))
			}
		})
		result := operation.Result{OutputFile: file}
		if c.inline {
			result = operation.Result{Inline: true}
		}
		_, err := read(client, result, 0)
		var refused *api.Error
		if errors.Is(err, results.ErrLost) != c.lost || !errors.As(err, &refused) || refused.RetryAfter != 7*time.Second {
			t.Errorf("%+v: %v", c, err)
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, client, results.Options{APIKey: apiKey}), apiKey) {
			t.Errorf("the key is in %v", err)
		}
	}
}

// TestBroken: an answer that is cut short is an error, never the end.
func TestBroken(t *testing.T) {
	t.Parallel()
	text := strings.Join(texts(), "\n")
	for _, cut := range []int{0, 1, 40, len(text) / 2, len(text) - 1} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			_, _ = io.WriteString(w, text[:cut])
			panic(http.ErrAbortHandler)
		})
		if got, err := read(client, operation.Result{OutputFile: file}, 0); err == nil || errors.Is(err, results.ErrLost) {
			t.Errorf("a file cut at %d: %d items, %v", cut, len(got), err)
		}
	}
	body := `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[{"response":1},{"response":2}`
	for _, cut := range []int{0, 5, 40, 70, len(body) - 12, len(body)} {
		if _, err := read(serve(t, says(body[:cut])), operation.Result{Inline: true}, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("inline, cut at %d: %v", cut, err)
		}
	}
	for _, none := range []string{`{}`, `{"metadata":null}`, `{"error":{"code":5}}`, `[]`, `{"response":{"inlinedResponses":[]}}`} {
		if _, err := read(serve(t, says(none)), operation.Result{Inline: true}, 0); !errors.Is(err, results.ErrNone) {
			t.Errorf("%s: %v, want ErrNone", none, err)
		}
	}
}

// TestKeys: a key is printable and short enough for a header, and two that differ stay two.
func TestKeys(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	keys := []string{strings.Repeat("k", 5000) + "1", strings.Repeat("k", 5000) + "2", `a\nb`, `a\rb`, `a_b`, ` a`, `a`, `日本 語`, `\ud800`, `\u0000`}
	for _, k := range keys {
		fmt.Fprintf(&text, "{\"key\":\"%s\",\"response\":1}\n", k)
	}
	got, err := read(serve(t, says(text.String())), operation.Result{OutputFile: file}, 0)
	if err != nil || len(got) != len(keys) {
		t.Fatalf("%d %v", len(got), err)
	}
	seen := map[string]bool{}
	for _, item := range got {
		if seen[item.Key] || len(item.Key) > 256 || !utf8.ValidString(item.Key) || strings.ContainsAny(item.Key, "\n\r\x00") {
			t.Errorf("key %q", item.Key)
		}
		seen[item.Key] = true
	}
	for _, same := range []string{"a_b", "a", "日本 語"} {
		if !seen[same] {
			t.Errorf("the key %q was changed", same)
		}
	}
}

// TestLargeLine: a line that is too large is an item with an error, and what is behind it is reached.
func TestLargeLine(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"key":"a","response":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 33 {
			_, _ = io.WriteString(w, chunk)
		}
		_, _ = io.WriteString(w, "\"}\n"+`{"key":"b","response":1}`)
	})
	got, err := read(client, operation.Result{OutputFile: file}, 0)
	want := []string{"0 index-0: error " + odd + `it is larger than 32 MiB"}`, "1 b: response 1"}
	if diff := cmp.Diff(want, show(got)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestLargeInline: inline there is no way past it.
func TestLargeInline(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"response":{"inlinedResponses":{"inlinedResponses":[{"response":1},{"response":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 34 {
			_, _ = io.WriteString(w, chunk)
		}
	})
	if got, err := read(client, operation.Result{Inline: true}, 0); !errors.Is(err, results.ErrTooLarge) || len(got) != 1 {
		t.Errorf("%d items, %v", len(got), err)
	}
}

// TestOptions: what is wrong with them is said without the key.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []results.Options{{}, {APIKey: " "}, {APIKey: "hunter2 hunter2"}, {APIKey: "hunter2", BaseURL: "hunter2"}, {APIKey: "k", BaseURL: "ftp://x"}, {APIKey: "k", BaseURL: "http://x"}} {
		if _, err := results.New(o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%#v: %v", o, err)
		}
	}
	if client, err := results.New(results.Options{APIKey: " key\n"}); err != nil || fmt.Sprintf("%v %#v", client, client) != "results.Client results.Client" {
		t.Errorf("%v %v", client, err)
	}
}

// TestSimulator: what the simulator serves of a batch, by file and inline, is what is read.
func TestSimulator(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{Seed: 1, Faults: geminisim.Faults{FailedItems: 0.5}})
	server := httptest.NewServer(sim.Handler())
	defer sim.Close()
	defer server.Close()
	submitter, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: apiKey, Backend: genai.BackendGeminiAPI, HTTPClient: server.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, server)
	for name, source := range map[string]*genai.BatchJobSource{
		"file": {FileName: "files/input"},
		"inline": {InlinedRequests: []*genai.InlinedRequest{
			{Contents: genai.Text("a"), Metadata: map[string]string{"key": "review-1"}}, {Contents: genai.Text("b")},
		}},
	} {
		job, err := submitter.Batches.Create(t.Context(), "m", source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		reader, err := client.Open(t.Context(), operation.Key(job.Name), operation.Result{})
		if err != nil {
			t.Fatal(err)
		}
		item, err := reader.Next()
		want := map[string]string{"file": "request-1", "inline": "review-1"}[name]
		if err != nil || item.Key != want || (item.Response == nil) == (item.Error == nil) {
			t.Errorf("%s: %+v %v", name, item, err)
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
}

// generated is a file of n items, made as it is read.
func generated(n int) http.HandlerFunc {
	filler := strings.Repeat("y", 1000)
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := range n {
			_, _ = fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":{\"text\":\"%s\"}}\n", i, filler)
		}
	}
}

// TestMemory: 20 MB are read with next to nothing of them in memory.
func TestMemory(t *testing.T) { // not parallel: it looks at the whole heap
	client := serve(t, generated(20_000))
	reader, err := client.Open(t.Context(), key, operation.Result{OutputFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	held := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before, peak := held(), int64(0)
	for i := 0; ; i++ {
		_, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%5000 == 0 {
			peak = max(peak, held()-before)
		}
	}
	t.Logf("at most %d KiB held", peak>>10)
	if peak > 8<<20 {
		t.Errorf("%d bytes held", peak)
	}
}

// BenchmarkSkip passes over a file of 100,000 items of a kilobyte, as a run does that is taken up again.
func BenchmarkSkip(b *testing.B) {
	client := serve(b, generated(100_000))
	for b.Loop() {
		reader, err := client.Open(b.Context(), key, operation.Result{OutputFile: file})
		if err == nil {
			err = errors.Join(reader.SkipTo(100_000), reader.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100_000/max(b.Elapsed().Seconds(), time.Microsecond.Seconds()), "items/s")
}
