package console

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/operation"
)

// functions are what the templates call.
var functions = template.FuncMap{
	"at":        at,
	"ago":       ago,
	"span":      phrase.Span,
	"took":      func(from, to time.Time) string { return phrase.Took(to.Sub(from)) },
	"state":     phrase.State,
	"tone":      phrase.StateTone,
	"status":    phrase.StatusTone,
	"condition": phrase.Condition,
	"conflict":  phrase.Conflict,
	"pending":   whyPending,
	"abandoned": phrase.Abandoned,
	"intent":    phrase.IntentState,
	"changed":   phrase.Changed,
	"redriven":  phrase.Redriven,
	"broken":    phrase.Broken,
	"link":      link,
	"playbook":  playbookAddress,
	"path":      operationAddress,
	"json":      indented,
	"short":     operation.Key.ID,
	"table":     newTable,
	"before":    func(key operation.Key) string { return strings.TrimSuffix(string(key), key.ID()) },
	"count":     phrase.Counted,
	"view":      func(now time.Time, data any) main { return main{Now: now, Data: data} },
	"number":    phrase.Number,
	"amount":    phrase.Amount,
	"bytes":     phrase.Bytes,
	"partof":    partOf,
	"sentence":  phrase.Sentence,
	"fine":      fine, "attempts": phrase.Attempts, "readable": phrase.Readable, "trueEnd": trueEnd,
}

// operationAddress is the address of the page of an operation, or of a part of a job.
func operationAddress(key operation.Key) string {
	return "/console/operation?" + theKey + "=" + url.QueryEscape(string(key))
}

// at is a time in the zone of this machine, with its offset; in UTC when it is hovered over.
func at(t time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	return element(t, phrase.LocalTime(t))
}

// fine is at with milliseconds.
func fine(t time.Time) template.HTML {
	return element(t, t.Local().Format("2006-01-02 15:04:05.000-07:00"))
}

// element is a time with these words, which are digits and signs alone.
func element(t time.Time, words string) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`,
		t.UTC().Format(time.RFC3339Nano), t.UTC().Format("2006-01-02 15:04:05.000"), words))
}

// ago is a time as seen from now: "3m12s ago", or "in 3m12s".
func ago(now, t time.Time) template.HTML {
	if t.IsZero() {
		return at(t)
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s = %s UTC">%s</time>`, // as in at
		t.UTC().Format(time.RFC3339Nano), phrase.LocalTime(t), t.UTC().Format("15:04:05"), phrase.Relative(t, now)))
}

// whyPending says why an operation is still waited for. How far a job is costs a read of its own.
func whyPending(r operation.Record, now time.Time, store string) string {
	switch {
	case r.Collection != operation.Jobs || r.HasCondition():
		return phrase.WhyPending(r, now, store)
	case !r.StuckSince.IsZero():
		return "no step since " + phrase.LocalTime(r.StuckSince)
	default:
		return "its page says how far the job is"
	}
}

// link is a path with a query of these names and values; empty values are left out.
func link(path string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// indented is v as JSON, for a person.
func indented(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text), err
}

// An operationTable is rows of operations, as a template shows them.
type operationTable struct {
	Pending bool // they are waited for
	Rows    []operationRow
}

// An operationRow is one of them.
type operationRow struct {
	Now     time.Time
	Pending bool
	Store   string // what commands end with
	Record  operation.Record
}

func newTable(now time.Time, pending bool, store string, records []operation.Record) operationTable {
	t := operationTable{Pending: pending}
	for _, rec := range records {
		t.Rows = append(t.Rows, operationRow{now, pending, store, rec})
	}
	return t
}
