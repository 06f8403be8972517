package job_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// problems expects these lines of the error for inputs, and no others.
func problems(t *testing.T, inputs iter.Seq2[string, io.Reader], o job.CanonicalOptions, wants ...string) {
	t.Helper()
	got, err := job.Canonicalize(io.Discard, inputs, o)
	var found *job.InputProblems
	if !errors.As(err, &found) || !errors.Is(err, operation.ErrSubmission) || got.Requests != 0 || got.Batches != nil {
		t.Errorf("%+v, %v; want %q", got, err, wants)
		return
	}
	said := strings.Split(err.Error(), "\n")
	if len(said) != len(wants) || len(diag.Split(err)) != len(wants) {
		t.Errorf("%q, want %q", said, wants)
		return
	}
	for i, want := range wants {
		if !strings.Contains(said[i], want) {
			t.Errorf("%s, want %s", said[i], want)
		}
	}
}

func TestInputProblems(t *testing.T) {
	t.Parallel()
	good, long := asked("a", "x"), strings.Repeat("x", job.MaxLineBytes+1)
	for _, test := range []struct {
		texts, wants []string
	}{
		{nil, []string{"input: there is no request in it"}},
		{[]string{"", "\n\n"}, []string{"input: there is no request in it"}},
		{[]string{good, "\n" + good}, []string{`b.jsonl:2: key: "a" is also the key of a.jsonl:1; give`}},
		{[]string{good + good, "", good}, []string{
			"a.jsonl:2: key: \"a\" is also the key of a.jsonl:1", "c.jsonl:1: key: \"a\" is also the key of a.jsonl:1",
		}},
		{[]string{"", asked("b", ""), asked("b", "")}, []string{`c.jsonl:1: key: "b" is also the key of b.jsonl:1`}},
		{[]string{good + "{\n" + asked("b", "") + "7"}, []string{
			"a.jsonl:2: line: it is not one", "a.jsonl:4: line: it is not an",
		}},
		{[]string{`{"request":{}}` + "\n" + good}, []string{
			"a.jsonl:1: key: it is missing", "a.jsonl:1: request.contents: it",
		}},
		{[]string{keyed(`"a","model":"m"`), keyed(`"b","model":"n"`)}, []string{`b.jsonl:1: model: "n" is not "m"`}},
		{[]string{long + "\n" + good + long, asked("b", "") + "{"}, []string{
			"a.jsonl:1: line: it has more than 32 MiB", "a.jsonl:3: line: it has more than 32 MiB", "b.jsonl:2: line: it is not",
		}},
		{[]string{"\xff\xfe{\x00", good, "\xfe\xff\x00{"}, []string{
			"a.jsonl: input: it is UTF-16", "c.jsonl: input: it is UTF-16",
		}},
		{[]string{zip(t, good)[:20], "7"}, []string{
			"a.jsonl:1: input: it ends within a gzip stream", "b.jsonl:1: line: it is not",
		}},
		{[]string{zip(t, good)[:5]}, []string{"a.jsonl: input: it ends within a gzip stream"}},
		{[]string{zip(t, good) + "more than a header", ""}, []string{
			"a.jsonl:2: input: it is a broken gzip stream behind here",
		}},
		{[]string{"\x1f\x8b is no gzip"}, []string{"a.jsonl: input: it is a broken gzip stream"}},
		{[]string{zip(t, zip(t, good))}, []string{"a.jsonl:1: line: it is not UTF-8"}},
	} {
		problems(t, inputs(test.texts...), job.CanonicalOptions{}, test.wants...)
	}
	o := job.CanonicalOptions{Job: job.Options{Model: "models/m"}}
	problems(t, inputs(keyed(`"a","model":"n"`)), o, `a.jsonl:1: model: "n" is not "m"`)
}

// The longest line is taken, with any line end.
func TestInputLongestLine(t *testing.T) {
	t.Parallel()
	frame := len(asked("a", "")) - 1
	for _, end := range []string{"", "\n", "\r\n"} {
		longest := strings.TrimSpace(asked("a", strings.Repeat("x", job.MaxLineBytes-frame)))
		got, err := job.Canonicalize(io.Discard, inputs(longest+end), job.CanonicalOptions{})
		if err != nil || got.Largest != job.MaxLineBytes+1 {
			t.Errorf("%q: %+v, %v", end, got, err)
		}
	}
}

// A line that is too long only in its canonical form is refused: it could not be read again.
func TestInputLongestLineGrows(t *testing.T) {
	t.Parallel()
	line := `{"k":1,"request":` + strings.Replace(body, "Hello", "%s", 1) + `}`
	line = fmt.Sprintf(line, strings.Repeat("x", job.MaxLineBytes-len(line)+len("%s")))
	o := job.CanonicalOptions{KeyField: "k"}
	problems(t, inputs(line), o, "a.jsonl:1: line: it has more than 32 MiB")
	if got, err := job.Canonicalize(io.Discard, inputs(line[:100]+line[104:]), o); err != nil || got.Requests != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The first 20 problems are kept, and the others are counted.
func TestInputProblemsMore(t *testing.T) {
	t.Parallel()
	var wants []string
	for i := range 20 {
		wants = append(wants, fmt.Sprintf("a.jsonl:%d: line: it is not an object", i+1))
	}
	problems(t, inputs(strings.Repeat("7\n", 20)), job.CanonicalOptions{}, wants...)
	problems(t, inputs(strings.Repeat("7\n", 10_000)), job.CanonicalOptions{}, append(wants, "9980 more problems")...)
	_, err := job.Canonicalize(io.Discard, inputs(strings.Repeat("7\n", 21)), job.CanonicalOptions{})
	if lines := diag.Lines("opledger", err); !strings.HasPrefix(lines, "opledger: 21 problems, and nothing was done:\n") ||
		!strings.HasSuffix(lines, "\n  1 more problem\n") {
		t.Errorf("%s", lines)
	}
	text, _ := json.Marshal(err)
	want := `{"problems":[{"input":"a.jsonl","line":1,"field":"line","problem":"it is not an object`
	if !strings.HasPrefix(string(text), want) || !strings.HasSuffix(string(text), `],"more":1}`) {
		t.Errorf("%s", text)
	}
}

// More batches than a job may have are refused before anything is created.
func TestInputTooManyBatches(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range job.MostParts {
		text.WriteString(asked(fmt.Sprint(i), ""))
	}
	o := job.CanonicalOptions{Job: job.Options{MaxRequestsPerBatch: 1}}
	got, err := job.Canonicalize(io.Discard, inputs(text.String()), o)
	if err != nil || len(got.Batches) != job.MostParts {
		t.Errorf("%d batches, %v", len(got.Batches), err)
	}
	problems(t, inputs(text.String(), asked("more", "")), o, "input: it makes more than 10000 batches")
	all := text.String() + asked("more", "") + asked("much more", "")
	endless := io.MultiReader(strings.NewReader(all), iotest.ErrReader(errors.New("it is read to its end")))
	problems(t, one(endless), o, "input: it makes more than 10000 batches")
}

// What is larger than a job may be, unpacked, is read no further, though it be one line or a small gzip.
func TestInputTooLarge(t *testing.T) {
	t.Parallel()
	line := asked("a", "")
	bound := int64(len(line))
	o := job.CanonicalOptions{}.WithMaxBytes(bound)
	if _, err := job.Canonicalize(io.Discard, inputs(line), o); err != nil {
		t.Errorf("as large as it may be: %v", err)
	}
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, err := io.Copy(pack, io.LimitReader(spaces{}, 64<<20))
	if err = errors.Join(err, pack.Close()); err != nil {
		t.Fatal(err)
	}
	for name, input := range map[string]io.Reader{
		"two lines": strings.NewReader(line + "\n"), "an endless line": spaces{}, "a gzip": &packed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems(t, one(input), o, ": input: the inputs are larger than a job may be")
		})
	}
}

// spaces are an endless line.
type spaces struct{}

// Read implements io.Reader.
func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func one(input io.Reader) iter.Seq2[string, io.Reader] {
	return func(yield func(string, io.Reader) bool) { yield("a.jsonl", input) }
}

// TestEmbeddings: a job of embeddings has requests with content, and another job has none. Where neither is known the
// first request decides.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	embed := asking(`{"content":{"parts":[{"text":"Hi"}]},"outputDimensionality":768,"task_type":"CLUSTERING","title":""}`)
	words := keyed(`"b"`)
	of := func(embed bool) job.CanonicalOptions {
		return job.CanonicalOptions{Job: job.Options{Model: "m", Embed: embed}}
	}
	for _, o := range []job.CanonicalOptions{of(true), {}} {
		if got, err := job.Canonicalize(io.Discard, inputs(embed), o); err != nil || got.Requests != 1 || got.Tokens == 0 {
			t.Errorf("%+v: %+v, %v", o, got, err)
		}
	}
	problems(t, inputs(embed), of(false), "a.jsonl:1: request.contents: it is missing")
	problems(t, inputs(words), of(true), "a.jsonl:1: request.content: it is missing")
	problems(t, inputs(words, embed), job.CanonicalOptions{}, "b.jsonl:1: request.contents: it is missing")
	problems(t, inputs(embed, words), job.CanonicalOptions{}, "b.jsonl:1: request.content: it is missing")
	both := asking(`{"content":{"parts":[{"text":"a"}]},"contents":[{"parts":[{"text":"a"}]}]}`)
	problems(t, inputs(both), of(true), "a.jsonl:1: request.content: it is of an embedding")
	problems(t, inputs(asking(`{"content":"text"}`)), of(true), "a.jsonl:1: request.content: it must be a content")
	o := job.Options{Model: "m", Embed: true, Validate: "json"}.WithDefaults()
	if err := o.Problems().Err(); err == nil || !strings.Contains(err.Error(), "an embedding is not checked") {
		t.Errorf("%v", err)
	}
}
