package effect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/operation"
)

// TestAnchors: an anchored value is read wherever an alias refers to it, and an alias inside of its
// own anchor is an error.
func TestAnchors(t *testing.T) {
	t.Parallel()
	got, err := effect.ParseSpecs([]byte(`
- &first
  name: a
  on: &ends [SUCCEEDED, FAILED]
  do: http
  url: !!str https://example.com/
  timeout: 5s
- {<<: *first, name: b}
- {name: c, on: *ends, do: log, jobKinds: [2026, 1.10]}
`), operation.Transitions{})
	if err != nil {
		t.Fatal(err)
	}
	ends := []operation.State{operation.Succeeded, operation.Failed}
	to := &effect.DoHTTP{URL: "https://example.com/"}
	want := []effect.Spec{
		{Name: "a", On: ends, Do: to, Timeout: 5 * time.Second}, {Name: "b", On: ends, Do: to, Timeout: 5 * time.Second},
		{Name: "c", On: ends, Do: &effect.DoLog{}, JobKinds: []string{"2026", "1.10"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, text := range []string{"- &a *a\n", "- &a {<<: *a, name: x}\n", "&a [*a]", "- name: &n *n\n",
		"- &a {<<: {<<: *a}, name: x}\n"} {
		if problems(text) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestMeaningOfAnAnchor: an alias stands for the last anchor of its name before it. Of several
// merged mappings an earlier one wins. Otherwise an effect would run on states that it does not
// list.
func TestMeaningOfAnAnchor(t *testing.T) {
	t.Parallel()
	got, err := effect.ParseSpecs([]byte(`
- {name: a, on: &ends [SUCCEEDED], do: &do log, jobKinds: &kinds [review]}
- {name: b, on: *ends, do: *do, jobKinds: *kinds}
- {name: c, on: &ends [FAILED], do: log, jobKinds: &kinds [nightly]}
- &d {name: d, on: *ends, do: log, jobKinds: *kinds}
- &e {name: e, on: [EXPIRED], do: http, url: "https://example.com/"}
- {<<: [*d, {timeout: 5s, do: http}], name: f}
- {<<: [*e, {<<: *d}], name: g}
`), operation.Transitions{})
	if err != nil {
		t.Fatal(err)
	}
	review, nightly := []string{"review"}, []string{"nightly"}
	succeeded, failed := []operation.State{operation.Succeeded}, []operation.State{operation.Failed}
	expired := []operation.State{operation.Expired}
	const url = "https://example.com/"
	want := []effect.Spec{
		{Name: "a", On: succeeded, Do: &effect.DoLog{}, JobKinds: review}, {Name: "b", On: succeeded, Do: &effect.DoLog{},
			JobKinds: review},
		{Name: "c", On: failed, Do: &effect.DoLog{}, JobKinds: nightly}, {Name: "d", On: failed, Do: &effect.DoLog{},
			JobKinds: nightly},
		{Name: "e", On: expired, Do: &effect.DoHTTP{URL: url}},
		{Name: "f", On: failed, Do: &effect.DoLog{}, JobKinds: nightly, Timeout: 5 * time.Second},
		{Name: "g", On: expired, Do: &effect.DoHTTP{URL: url}, JobKinds: nightly},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestAliasBomb: aliases cannot make a short text stand for more values than memory holds.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	bomb := "- {name: a0, do: log, on: &a0 [x, x, x, x, x, x, x, x, x, x]}\n"
	for i := range 30 {
		level := strings.Repeat(fmt.Sprintf("*a%d, ", i), 10)
		bomb += fmt.Sprintf("- {name: b%d, do: log, on: &a%d [%s]}\n", i, i+1, level)
	}
	bomb += "- {name: last, do: log, on: *a30}\n"
	got := problems(bomb)
	const want = `effect "b3" (line 5): the text has more than 100000 values, aliases followed`
	if !slices.Contains(got, want) || len(got) > 25 {
		t.Errorf("%q", got)
	}
}

// FuzzParseSpecs: no text makes ParseSpecs panic, run for long, or return nothing at all.
func FuzzParseSpecs(f *testing.F) {
	f.Add("- &a {name: a, on: &s [SUCCEEDED], do: http, url: \"https://x\", timeout: 5s}\n- {<<: [*a, {each: item}], " +
		"on: *s}")
	f.Add("[{name: a, on: [FAILED], do: results, bucket: gs://b, permanent: [404], concurrency: 0x10}]")
	f.Add("&x [*x, {<<: *x}, !!str 5, ~, {? [a] : b}, {*x : y}]")
	f.Add("- |\n  text\n- name: >-\n    a\n...\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := effect.ParseSpecs([]byte(text), operation.Transitions{})
		if len(specs) == 0 && err == nil {
			t.Errorf("%q: neither specs nor an error", text)
		}
	})
}
