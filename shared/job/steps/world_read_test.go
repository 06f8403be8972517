package steps_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func (w *world) record(key operation.Key) operation.Record {
	w.Helper()
	rec, err := w.ledger.Operations.Read(w.Context(), key)
	if err != nil {
		w.Fatal(err)
	}
	return rec
}

func (w *world) job() job.Job {
	w.Helper()
	j, err := w.ledger.Jobs.Read(w.Context(), nightly)
	if err != nil {
		w.Fatal(err)
	}
	return j.Job
}

func (w *world) part(number int) job.Part {
	w.Helper()
	p, _, err := w.ledger.Jobs.Part(w.Context(), operation.PartKey(nightly, number))
	if err != nil {
		w.Fatal(err)
	}
	return p.Part
}

func (w *world) parts() []job.Part {
	w.Helper()
	var all []job.Part
	for number := range w.job().Parts {
		all = append(all, w.part(number+1))
	}
	return all
}

// output returns the lines of a kind that the job leaves, or has so far.
func (w *world) output(kind string) (lines []files.Line, text string) {
	w.Helper()
	var out bytes.Buffer
	if _, err := files.Copy(w.Context(), w.ledger, w.kept, nightly, kind, &out); err != nil {
		w.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var l files.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			w.Fatalf("%s: %v in %s", kind, err, line)
		}
		lines = append(lines, l)
	}
	return lines, out.String()
}

// effectOf returns the document of an effect.
func (w *world) effectOf(key operation.Key, name string) ledger.Effect {
	w.Helper()
	story, err := w.ledger.Operations.Show(w.Context(), key)
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(story.Effects, func(e ledger.Effect) bool { return e.Name == name })
	if i < 0 {
		w.Fatalf("%s has no effect %s", key, name)
	}
	return story.Effects[i]
}

// alerts returns the reasons of the alerts since the last call, each once, in order.
func (w *world) alerts() []string {
	w.Helper()
	var reasons []string
	for _, line := range w.log.Drain(w) {
		if line["event"] == "alert" {
			reasons = append(reasons, line["reason"].(string))
		}
	}
	slices.Sort(reasons)
	return reasons
}

// deliver ingests what an event says of a batch.
func (w *world) deliver(batch string) {
	w.Helper()
	if _, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
		Name: operation.Name{Key: operation.Key(batch), Resource: batch}, DeliveryID: "of-" + batch,
		Source: operation.Webhook, State: operation.Running, UpdateTime: w.clock.Now(),
		CorrelationID: string(operation.PartKey(nightly, 1)),
	}); err != nil {
		w.Error(err)
	}
}

// named returns the name in an answer, which can be read again.
func (w *world) named(answer *http.Response) string {
	w.Helper()
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var named struct {
		Name string `json:"name"`
	}
	if err = errors.Join(err, json.Unmarshal(body, &named)); err != nil {
		w.Error(err)
	}
	return named.Name
}
