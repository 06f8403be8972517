package job_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/test/harness"
)

// inputs are these texts, called a.jsonl, b.jsonl and so on.
func inputs(texts ...string) iter.Seq2[string, io.Reader] {
	return func(yield func(string, io.Reader) bool) {
		for i, text := range texts {
			if !yield(string(rune('a'+i))+".jsonl", strings.NewReader(text)) {
				return
			}
		}
	}
}

// zip packs a text as gzip does.
func zip(t testing.TB, text string) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// TestCanonicalize: whatever form the inputs have, what comes of them is the same, and stays so.
func TestCanonicalize(t *testing.T) {
	t.Parallel()
	a, b, c := keyed(`"a"`)+"\n", keyed(`"b"`)+"\n", keyed(`"3"`)+"\n"
	want := a + b + c
	loose := ` { "request" : ` + strings.ReplaceAll(body, ":", " :\t") + `, "note" : 1, "key" : "\u0061" } `
	for name, texts := range map[string][]string{
		"canonical":     {want},
		"no line end":   {strings.TrimSuffix(want, "\n")},
		"blank lines":   {"\n \n" + a + "\r\n\t\n" + b + "\n" + c + "\n\n"},
		"CRLF":          {strings.ReplaceAll(want, "\n", "\r\n")},
		"a mark":        {"\xef\xbb\xbf" + want},
		"loose":         {loose + "\n" + b + keyed("3")},
		"several":       {a, "", b + c},
		"without ends":  {strings.TrimSpace(a), b, strings.TrimSpace(c)},
		"gzip":          {zip(t, want)},
		"gzip, a mark":  {zip(t, "\xef\xbb\xbf"+want)},
		"gzips in one":  {zip(t, a) + zip(t, b[:9]) + zip(t, b[9:]+c)},
		"both":          {a, zip(t, b), c},
		"an empty gzip": {zip(t, ""), want},
	} {
		var out bytes.Buffer
		got, err := job.Canonicalize(&out, inputs(texts...), job.CanonicalOptions{})
		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", name, out.String(), err)
			continue
		}
		sum := sha256.Sum256([]byte(want))
		size := int64(len(want))
		if got.Requests != 3 || got.Bytes != size || got.Largest != int64(len(a)) ||
			got.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %+v", name, got)
		}
		if tokens := 3 * int64(len(body)/4); got.Tokens != tokens {
			t.Errorf("%s: %d tokens, want %d", name, got.Tokens, tokens)
		}
		if !slices.Equal(got.Batches, []job.Source{{Length: size, Requests: 3}}) {
			t.Errorf("%s: batches %+v", name, got.Batches)
		}
	}
}

// An image counts as tokens by itself, not by its bytes.
func TestCanonicalizeTokens(t *testing.T) {
	t.Parallel()
	image := `{"inlineData":{"data":"` + strings.Repeat("A", 1<<20) + `"}}`
	text := asking(`{"contents":[{"parts":[` + image + `,{"fileData":{}}]}]}`)
	got, err := job.Canonicalize(io.Discard, inputs(text), job.CanonicalOptions{})
	if err != nil || got.Tokens < 2*258 || got.Tokens > 2*258+50 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The batches are those of a Cutter that is given the lines.
func TestCanonicalizeBatches(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var sizes []int64
	for i := range 100 {
		line := asked(strconv.Itoa(i), strings.Repeat("x", i*7%50))
		text.WriteString(line)
		sizes = append(sizes, int64(len(line)))
	}
	o := job.Options{MaxRequestsPerBatch: 7, MaxBytesPerBatch: 600}
	got, err := job.Canonicalize(io.Discard, inputs(text.String()), job.CanonicalOptions{Job: o})
	want := cut(o, 0, sizes...)
	for i := range want {
		want[i].Object = ""
	}
	if err != nil || len(want) < 15 || !slices.Equal(got.Batches, want) {
		t.Errorf("%v, %v; want %v", got.Batches, err, want)
	}
}

// asked is a canonical line with that key and text.
func asked(key, text string) string {
	return `{"key":"` + key + `","request":{"contents":[{"parts":[{"text":"` + text + `"}]}]}}` + "\n"
}

func TestCanonicalizeOptions(t *testing.T) {
	t.Parallel()
	text := `{"custom_id":"a","model":"models/m","request":` + body + `}`
	for _, o := range []job.CanonicalOptions{
		{KeyField: "custom_id"}, {KeyField: "custom_id", Job: job.Options{Model: "models/m"}},
		{KeyField: "custom_id", Job: job.Options{Model: "m"}, Check: func(r job.Request) error {
			if r.Key != "a" || string(r.Body) != body {
				t.Errorf("%+v is checked", r)
			}
			return nil
		}},
	} {
		if got, err := job.Canonicalize(io.Discard, inputs(text), o); err != nil || got.Requests != 1 {
			t.Errorf("%+v: %+v, %v", o, got, err)
		}
	}
	o := job.CanonicalOptions{KeyField: "custom_id", Check: func(job.Request) error { return errors.New("no") }}
	problems(t, inputs(text), o, "a.jsonl:1: request: no")
}

// Errors of reading and of writing are none of the inputs.
func TestCanonicalizeErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var found *job.InputProblems
	for name, text := range map[string]string{"plain": asked("a", ""), "gzip": zip(t, asked("a", "")), "at once": ""} {
		for _, failure := range []error{broken, io.ErrUnexpectedEOF} {
			input := io.MultiReader(strings.NewReader(text[:len(text)/2]), iotest.ErrReader(failure))
			one := func(yield func(string, io.Reader) bool) { yield("a.jsonl", input) }
			_, err := job.Canonicalize(io.Discard, one, job.CanonicalOptions{})
			if !errors.Is(err, failure) || errors.As(err, &found) ||
				!strings.Contains(err.Error(), "reading the input a.jsonl") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	full := iotest.ErrReader(broken)
	for _, text := range []string{asked("a", "b"), asked("a", strings.Repeat("b", 1<<20))} {
		_, err := job.Canonicalize(writeTo{full}, inputs(text), job.CanonicalOptions{})
		if !errors.Is(err, broken) || errors.As(err, &found) ||
			!strings.Contains(err.Error(), "writing the canonical input") {
			t.Errorf("%v", err)
		}
	}
}

// A writeTo fails as its reader does.
type writeTo struct{ io.Reader }

func (w writeTo) Write(p []byte) (int, error) { return w.Read(p) }

// TestCanonicalizeMemory: what is held grows by a few bytes with each request, and not with its size.
func TestCanonicalizeMemory(t *testing.T) {
	requests := harness.Soak(t, 50_000, 200_000, 1_000_000)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	read, write := io.Pipe()
	go func() {
		for i := range requests {
			fmt.Fprint(write, asked(strconv.Itoa(i), strings.Repeat("x", 300)))
		}
		runtime.GC()
		runtime.ReadMemStats(&during)
		write.Close()
	}()
	one := func(yield func(string, io.Reader) bool) { yield("-", read) }
	got, err := job.Canonicalize(io.Discard, one, job.CanonicalOptions{})
	if err != nil || got.Requests != int64(requests) {
		t.Fatalf("%+v, %v", got, err)
	}
	held := int64(during.HeapAlloc) - int64(before.HeapAlloc)
	if most := int64(requests)*30 + 1<<20; held > most {
		t.Errorf("%d requests hold %d bytes, more than %d", requests, held, most)
	}
	t.Logf("%d requests hold %d bytes", requests, held)
}

// TestCanonicalizeAllowed: batches are counted as the split cuts them, whose tokens a model's quota bounds.
func TestCanonicalizeAllowed(t *testing.T) {
	t.Parallel()
	var input strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&input, `{"key":"k%d","request":{"contents":[{"parts":[{"text":"%s"}]}]}}`+"\n", i,
			strings.Repeat("x", i%97))
	}
	allowed := job.Allowed{Quota: 5000}
	read := func(allowed job.Allowed) job.Summary {
		summary, err := job.Canonicalize(io.Discard, func(yield func(string, io.Reader) bool) {
			yield("input", strings.NewReader(input.String()))
		}, job.CanonicalOptions{Allowed: allowed})
		if err != nil {
			t.Fatal(err)
		}
		return summary
	}
	all, within := read(job.Allowed{}), read(allowed)
	j := job.Job{Input: job.Input{Bytes: all.Bytes, Tokens: all.Tokens}}
	cutter := job.NewCutter(j.Within(allowed), "", 0)
	var want []job.Source
	for line := range strings.Lines(input.String()) {
		if done, ok := cutter.Add(int64(len(line))); ok {
			want = append(want, done)
		}
	}
	rest, _ := cutter.Rest()
	want = append(want, rest)
	if len(all.Batches) != 1 || len(want) < 20 || !slices.Equal(within.Batches, want) || within.SHA256 != all.SHA256 {
		t.Errorf("%d batches, then %d, want %d", len(all.Batches), len(within.Batches), len(want))
	}
}
