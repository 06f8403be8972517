package geminisim_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestInputKeys: a result has the key of its request, however that is written, in memory and on disk, in
// the order of the input and in another.
func TestInputKeys(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"key":"plain","request":{}}`, "", `{"key":"a \"quoted\" one","request":{}}`, `{"request":{},"key":"behind"}`,
		` { "key" : "spaced" , "request" : { } } ` + "\r", `{"request":{"key":"no key"}}`, `{"key":"é\u00e9","request":{}}`,
		`{"key":"long","request":{"x":"` + strings.Repeat("y", 600<<10) + `"}}`, `{"key":"last","request":{}}`,
	}
	want := []string{"plain", `a \"quoted\" one`, "behind", "spaced", "éé", "long", "last"}
	for place, cfg := range places(t) {
		cfg.Faults = geminisim.Faults{Shuffled: 0.5}
		sim, client, _ := serve(t, cfg)
		job := ask(t, sim, client, "job", geminisim.StateSucceeded, lines...)
		orders := map[string]bool{}
		for range 8 {
			results := download(t, sim, job.Name)
			orders[strings.Join(results, "\n")] = true
			found := 0
			for _, key := range want {
				for _, line := range results {
					if strings.HasPrefix(line, `{"key":"`+key+`","response":`) {
						found++
					}
				}
			}
			if found != len(want) || len(results) != len(want)+1 {
				t.Errorf("%s: %d of %d keys in %q", place, found, len(want), results)
			}
		}
		if len(orders) < 2 {
			t.Errorf("%s: one order of 8", place)
		}
	}
}

// TestInputRefused: what is no list of requests is no input, with the number of the first that is none.
func TestInputRefused(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	for content, says := range map[string]string{
		"": "no requests", "\n \n": "no requests", "[]": "request 1 ", asks(1)[0] + "\n{}": "request 2 ",
		`{"key":1,"request":{}}`: "request 1 ", `{"key":"k","request":null}`: "request 1 ", `{"request":{}`: "request 1 ",
		`{"key":"k","request":[]}`: "request 1 ",
	} {
		file := upload(t, client, content)
		_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if n := len(sim.Batches()); n != 0 {
		t.Errorf("%d batches", n)
	}
}

// TestInputMemory: a request costs 8 bytes of memory, whatever its length, and its result none.
func TestInputMemory(t *testing.T) { // alone, because it measures the heap of the process
	const requests, most = 50_000, 40
	sim := geminisim.New(geminisim.Config{Folder: t.TempDir(), Faults: geminisim.Faults{FailedItems: 0.1}})
	defer sim.Close()
	sim.Script("job", geminisim.Script{Hold: geminisim.StateRunning})
	before := heap()
	file, to := io.Pipe()
	go func() {
		padding := strings.Repeat("x", 150)
		for i := range requests {
			fmt.Fprintf(to, `{"key":"review-%07d","request":{"x":"%s"}}`+"\n", i, padding)
		}
		_ = to.Close()
	}()
	s := startSession(t, sim)
	if w := s.send("upload, finalize", 0, file); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	id := s.url[strings.LastIndex(s.url, "/")+1:]
	w := call(t, sim, "POST", "/v1beta/models/m:batchGenerateContent",
		`{"batch":{"displayName":"job","inputConfig":{"fileName":"files/`+id+`"}}}`)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if grown := heap() - before; grown > requests*most {
		t.Errorf("%d requests cost %d bytes of heap", requests, grown)
	}
	if err := sim.SetState("job", geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	got := &counted{header: http.Header{}, t: t, most: before + requests*most}
	path := strings.TrimPrefix(sim.Batches()[0].ResultFile, "files/")
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1beta/files/"+path+":download?alt=media", nil)
	r.Header.Set("X-Goog-Api-Key", "key")
	if sim.ServeHTTP(got, r); got.lines != requests {
		t.Errorf("%d lines", got.lines)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// counted is a response of which only the lines are counted, while the heap is watched.
type counted struct {
	header http.Header
	t      *testing.T
	lines  int
	writes int
	most   int64
}

func (c *counted) Header() http.Header { return c.header }
func (c *counted) WriteHeader(int)     {}

func (c *counted) Write(p []byte) (int, error) {
	c.lines += strings.Count(string(p), "\n")
	if c.writes++; c.writes%50 == 0 {
		if now := heap(); now > c.most {
			c.t.Errorf("%d bytes of heap in the middle of the download", now)
		}
	}
	return len(p), nil
}

// TestEmbeddings: a batch of embeddings answers each request with a vector, in a file and inline, as the SDK asks.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{Truncated: 0.5, Blocked: 0.5}})
	file := upload(t, client, `{"key":"a","request":{"content":{"parts":[{"text":"Hello"}]}}}`)
	inline := &genai.EmbedContentBatch{Contents: genai.Text("Hello")}
	for _, src := range []*genai.EmbeddingsBatchJobSource{{FileName: file.Name}, {InlinedRequests: inline}} {
		job, err := client.Batches.CreateEmbeddings(t.Context(), new("m"), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		job, err = client.Batches.Get(t.Context(), job.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if src.FileName == "" {
			answers := job.Dest.InlinedEmbedContentResponses
			if len(answers) != 1 || answers[0].Response == nil || len(answers[0].Response.Embedding.Values) == 0 {
				t.Errorf("inline: %+v", answers)
			}
			continue
		}
		if lines := strings.Join(download(t, sim, job.Name), "\n"); !strings.HasPrefix(lines,
			`{"key":"a","response":{"embedding":{"values":[`) {
			t.Errorf("%s", lines)
		}
	}
}
