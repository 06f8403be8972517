package results_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

const odd = `{"message":"opledger: the item cannot be used: `

// lines are the possible lines of a result, and the item for each.
var lines = []struct{ text, want string }{
	{`{"key":"a","response":{"x":1}}`, `0 a: response {"x":1}`},
	{`{"key":"b","error":{"code":13}}`, `1 b: error {"code":13}`},
	{`null`, `2 : error ` + odd + `it is null"}`},
	{`{"key":"a","response":{"x":2}}`, `3 a again: response {"x":2}`},
	{`{"response":{"x":3}}`, `4 : response {"x":3}`},
	{`{"key":17,"response":{}}`, `5 17: response {}`},
	{`{"key":"a~3","response":{}}`, `6 a~3: response {}`},
	{`{"key":"index-2","response":[]}`, `7 index-2: response []`},
	{`{"key":"c","response":null,"error":null}`, `8 c: error ` + odd + `it has neither a response nor an error"}`},
	{`{"key":{},"metadata":{"key":"m"},"response":"text"}`, `9 m: response "text"`},
	{`{"key":"","metadata":"x","response":1}`, `10 : response 1`},
	{`{"key":"both","response":1,"error":2}`, `11 both: error 2`},
	{`["key"]`, `12 : error ` + odd + `it is not a JSON object"}`},
	{`{"key":"a","response":4}`, `13 a again: response 4`},
}

func wants() (want []string) {
	for _, line := range lines {
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

// TestFile: every kind of line, with the same keys each time [K4].
func TestFile(t *testing.T) {
	t.Parallel()
	all := strings.Join(texts(), "\n")
	for name, text := range map[string]string{
		"lines": all, "an end of line behind the last": all + "\n",
		"blank lines": "\r\n\n" + strings.ReplaceAll(all, "\n", "\r\n \n"),
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() != "/v1beta/"+file+":download?alt=media" || r.Header.Get("X-Goog-Api-Key") != apiKey {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = io.WriteString(w, text)
		})
		for range 2 {
			got, err := read(client, operation.Result{OutputFile: file})
			if diff := cmp.Diff(wants(), show(got)); err != nil || diff != "" {
				t.Errorf("%s: %v %s", name, err, diff)
			}
		}
	}
}

// TestSkip: skipping to any number of keys leaves the items behind the last of them, and counts as
// reading does [K4].
func TestSkip(t *testing.T) {
	t.Parallel()
	client := serve(t, says(strings.Join(texts(), "\n")))
	for keys, next := range []int{0, 1, 2, 6, 7, 8, 9, 10, 12} {
		reader, err := client.Open(t.Context(), key, operation.Result{OutputFile: file})
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Skip(int64(keys)); err != nil || reader.Tally().Items != int64(next) {
			t.Errorf("%d keys: %+v, %v, want item %d next", keys, reader.Tally(), err, next)
		}
		rest, err := all(reader)
		if diff := cmp.Diff(wants()[next:], show(rest)); err != nil || diff != "" {
			t.Errorf("behind %d keys: %v %s", keys, err, diff)
		}
		if got := reader.Tally(); got.Items != 14 || got.Keys != 8 || got.Unkeyed != 4 || got.Repeated != 2 {
			t.Errorf("behind %d keys: %+v", keys, got)
		}
	}
	reader, err := client.Open(t.Context(), key, operation.Result{OutputFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Skip(9); !errors.Is(err, io.EOF) {
		t.Errorf("skipping more keys than there are: %v, want io.EOF", err)
	}
	_ = reader.Close()
}

// TestTallyOfAnotherOrder: two reads of the same items have the same tally, in whatever order they come,
// and one that lacks an item has another [K4].
func TestTallyOfAnotherOrder(t *testing.T) {
	t.Parallel()
	tally := func(lines []string) results.Tally {
		reader, err := serve(t, says(strings.Join(lines, "\n"))).Open(t.Context(), key, operation.Result{OutputFile: file})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all(reader); err != nil {
			t.Fatal(err)
		}
		return reader.Tally()
	}
	backwards := texts()
	slices.Reverse(backwards)
	if one, other := tally(texts()), tally(backwards); one != other {
		t.Errorf("K4: %+v, backwards %+v", one, other)
	}
	if one, other := tally(texts()), tally(texts()[1:]); one == other {
		t.Errorf("K4: a result that lacks an item has the same tally %+v", one)
	}
}

// TestByPosition: on demand an item without a key is named by its position, and no key is given twice.
func TestByPosition(t *testing.T) {
	t.Parallel()
	reader, err := serve(t, says(strings.Join(texts(), "\n"))).Open(t.Context(), key, operation.Result{OutputFile: file})
	if err != nil {
		t.Fatal(err)
	}
	reader.ByPosition()
	items, err := all(reader)
	if err != nil {
		t.Fatal(err)
	}
	for index, want := range map[int]string{2: "index-2", 4: "index-4", 7: "index-2", 12: "index-12"} {
		if items[index].Key != want || items[index].Repeated != (index == 7) {
			t.Errorf("%d: %+v, want the key %s", index, items[index], want)
		}
	}
	if got := reader.Tally(); got.Unkeyed != 0 || got.Repeated != 3 {
		t.Errorf("%+v", got)
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
		if got, err := read(client, operation.Result{OutputFile: file}); err == nil || errors.Is(err, results.ErrNotFound) {
			t.Errorf("a file cut at %d: %d items, %v", cut, len(got), err)
		}
	}
	body := `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[{"response":1},{"response":2}`
	for _, cut := range []int{0, 5, 40, 70, len(body) - 12, len(body)} {
		if _, err := read(serve(t, says(body[:cut])), operation.Result{Inline: true}); !errors.Is(
			err, io.ErrUnexpectedEOF,
		) {
			t.Errorf("inline, cut at %d: %v", cut, err)
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

// TestMemory: reading 20 MB holds little in memory.
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

// BenchmarkSkip skips a file of 100,000 items of a kilobyte, as a resumed run does.
func BenchmarkSkip(b *testing.B) {
	client := serve(b, generated(100_000))
	for b.Loop() {
		reader, err := client.Open(b.Context(), key, operation.Result{OutputFile: file})
		if err == nil {
			err = errors.Join(reader.Skip(100_000), reader.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100_000/max(b.Elapsed().Seconds(), time.Microsecond.Seconds()), "items/s")
}
