package register_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/ledger"
)

// TestProblems: an invalid registration is answered 400 with every problem at once, always in the
// same order, and writes nothing.
func TestProblems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 257)
	for name, c := range map[string]struct {
		body string
		want []string // one part of each problem
	}{
		"empty":              {"", []string{"the body"}},
		"not JSON":           {"name=batches/a", []string{"the body"}},
		"a list":             {`[{"name":"batches/a"}]`, []string{"the body"}},
		"a text":             {`"batches/a"`, []string{"the body"}},
		"cut":                {`{"name":"batches/a"`, []string{"the body"}},
		"two objects":        {`{"name":"batches/a"}{"name":"batches/b"}`, []string{"the body"}},
		"a brace more":       {`{"name":"batches/a"}}`, []string{"the body"}},
		"a bracket more":     {`{"name":"batches/a"}]`, []string{"the body"}},
		"rubbish behind":     {`{"name":"batches/a"} x`, []string{"the body"}},
		"null":               {`null`, []string{"name"}},
		"nothing":            {`{}`, []string{"name"}},
		"empty name":         {`{"name":" / "}`, []string{"name"}},
		"bare id":            {`{"name":"abc"}`, []string{`write batches/abc, operations/abc or interactions/abc`}},
		"a collection alone": {`{"name":"batches/"}`, []string{"name"}},
		"control characters": {`{"name":"batches/a\u0000"}`, []string{"name"}},
		"half a surrogate":   {`{"name":"batches/a\ud800"}`, []string{"name"}},
		"withdrawn":          {`{"name":"batches/a","withdraw":true}`, []string{"only an intent"}},
		"an attempt":         {`{"name":"batches/a","attempt":"a"}`, []string{"only an intent"}},
		"a garbled id":       {`{"name":"batches/a","correlationId":"c\udfff"}`, []string{"correlationId: it has U+FFFD"}},
		"a long name":        {`{"name":"batches/` + strings.Repeat("a", 1100) + `"}`, []string{"name"}},
		"name is a number":   {`{"name":5}`, []string{"name"}},
		"unknown field":      {`{"name":"batches/a","jobkinds":"x"}`, []string{"jobkinds"}},
		"another case":       {`{"Name":"batches/a"}`, []string{`"Name"`, "name"}},
		"metadata is a list": {`{"name":"batches/a","metadata":[1]}`, []string{"metadata"}},
		"much metadata": {`{"name":"batches/a","metadata":{"a":"` + strings.Repeat("x", 64<<10) + `"}}`,
			[]string{"metadata"}},
		"no time":    {`{"name":"batches/a","submittedAt":"yesterday"}`, []string{"submittedAt"}},
		"the future": {`{"name":"batches/a","submittedAt":"2026-01-22T13:00:01Z"}`, []string{"submittedAt"}},
		"everything": {
			`{"name":"","jobKind":"` + long + `","metadata":[],"submittedAt":"2027-01-01T00:00:00Z","correlationId":"` + long +
				`"}`,
			[]string{"metadata", "name", "jobKind", "correlationId", "submittedAt"},
		},
		"everything of the wrong kind": {
			`{"name":1,"jobKind":2,"metadata":3,"submittedAt":4,"correlationId":5,"kind":6,"job":7}`,
			[]string{"correlationId: it must be a text", `"job":`, "jobKind: it must be", `"kind":`, "metadata",
				"name: it must be", "submittedAt: it must be a time"},
		},
	} {
		var first []string
		for range 8 {
			r := w.post(c.body)
			if r.Status != http.StatusBadRequest || len(r.Error.Problems) != len(c.want) {
				t.Errorf("%s: %d %q, want 400 with %d problems", name, r.Status, r.Error.Problems, len(c.want))
				break
			}
			for i, want := range c.want {
				if !strings.Contains(r.Error.Problems[i], want) || !strings.Contains(r.Error.Message, r.Error.Problems[i]) {
					t.Errorf("%s: problem %q in %q, want one about %s", name, r.Error.Problems[i], r.Error.Message, want)
				}
			}
			if first == nil {
				first = r.Error.Problems
			} else if !slices.Equal(first, r.Error.Problems) {
				t.Errorf("%s: now %q, then %q", name, first, r.Error.Problems)
				break
			}
		}
	}
	if all, err := w.ledger.Operations.List(t.Context(), ledger.Filter{Limit: 10}); err != nil || len(all.Items) != 0 {
		t.Errorf("written: %v, %v", all, err)
	}
}

// TestBounds: the largest values within the bounds are accepted.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 256)
	for i, body := range []string{
		`{"name":"batches/0","jobKind":"` + long + `","correlationId":"` + long + `"}`,
		`{"name":"batches/1","metadata":{"a":"` + strings.Repeat("x", 64<<10-8) + `"}}`,
		`{"name":"batches/2","submittedAt":"2026-01-22T13:00:00Z"}`,
		`{"name":"batches/3","submittedAt":null,"metadata":null}`,
		"\n" + `{"name":"batches/4","metadata":{}}` + " \n",
		`{"name":"operations/5","submittedAt":"1999-01-22T13:00:00Z"}`,
		`{"name":"batches/6","jobKind":"a\ud800"}`, // nothing is found by it
	} {
		if r := w.post(body); r.Status != http.StatusCreated {
			t.Errorf("%d: %d %+v", i, r.Status, r.Error)
		}
	}
}

// TestMistypedFields: an unknown field is named with the one that was probably meant.
func TestMistypedFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"name":"batches/a","jobkind":"x"}`: `"jobkind": there is no such field; did you mean jobKind?`,
		`{"name":"batches/a","colour":"x"}`:  `"colour": there is no such field`,
		`{"intent":true,"correlationId":"c","collection":"batch"}`: `collection: it must be operations, batches, ` +
			`batchJobs, batchPredictionJobs or interactions, not "batch"; did you mean batches?`,
		`{"intent":true,"correlationId":"c","metadata":{},"corelationId":1}`: `"corelationId": there is no such ` +
			`field; did you mean correlationId?`,
		`{"name":"batches/a","correlationId":"jobs/nightly/00001"}`: `correlationId: what begins with jobs/ belongs to ` +
			`jobs; choose another one`,
		`{"intent":true,"correlationId":"Jobs/a"}`: `correlationId: what begins with jobs/ belongs to ` +
			`jobs; choose another one`,
	} {
		if r := w.post(body); r.Status != http.StatusBadRequest || len(r.Error.Problems) != 1 || r.Error.Problems[0] != want {
			t.Errorf("%s: %d %q, want 400 %q", body, r.Status, r.Error.Problems, want)
		}
	}
}

// TestUndecodableBody: what cannot be decoded is described in JSON's words, not in those of Go's
// decoder.
func TestUndecodableBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const body = `; a registration is {"name":"batches/abc123",…}, and an intent ` +
		`{"intent":true,"correlationId":"nightly-2026-11-21",…}`
	for sent, want := range map[string]string{
		`{"name":"batches/a","metadata":5}`:   `metadata: metadata is not a JSON object, such as {"dataset":"a"}`,
		`{"name":"batches/a","metadata":[1]}`: `metadata: metadata is not a JSON object, such as {"dataset":"a"}`,
		`name=a`:                              "the body: it is not JSON (byte 2)" + body,
		`{"name":"batches/a"`:                 "the body: it is not JSON (byte 19)" + body,
		`["batches/a"]`:                       "the body: it is no JSON object" + body,
	} {
		if r := w.post(sent); r.Status != http.StatusBadRequest || len(r.Error.Problems) != 1 || r.Error.Problems[0] != want {
			t.Errorf("%s: %d %q, want 400 %q", sent, r.Status, r.Error.Problems, want)
		}
	}
}

// TestManyUnknownFields: an answer names some of the fields that do not exist, and counts the others.
func TestManyUnknownFields(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range 25 {
		fmt.Fprintf(&body, `"x%d":1,`, i)
	}
	r := newWorld(t).post("{" + body.String() + `"name":"batches/a"}`)
	if n := len(r.Error.Problems); r.Status != http.StatusBadRequest || n != 21 ||
		r.Error.Problems[n-1] != "5 more fields: they do not exist" {
		t.Errorf("%d %q", r.Status, r.Error.Problems)
	}
}

// TestRegistration: a command's registration is checked like a request's.
func TestRegistration(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{"batches/a": true, "a": false} {
		got, err := register.Request{Name: name}.Registration(noon)
		if (err == nil) != valid || valid && got.Name.Key != "batches/a" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
