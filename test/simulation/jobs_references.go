package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A reference is a file at Gemini that requests name.
type reference struct {
	lost time.Time // from when Gemini does not have it, by its clock; zero: it stays
	says bool      // Gemini says when it will be lost
}

// refer draws the files that requests of a job name, and when they are lost. Few jobs have any.
func (w *World) refer(key operation.Key, large bool) (names []string) {
	if w.gate.choose(Plan, 6) != 1 && !w.store.flaw.needs(lostReferences) || large || w.settings.EnqueuedTokens != nil {
		return nil
	}
	for i := range drawn(w, []int{1, 2}) {
		name := fmt.Sprintf("files/of-%s-%d", key.ID(), i+1)
		r := reference{says: w.gate.choose(Plan, 2) == 1}
		if after := drawn(w, []time.Duration{time.Second, 4 * time.Minute, 13 * time.Minute, 0}); after > 0 {
			r.lost = w.gemini.now().Add(after)
		}
		w.gemini.references[name] = r
		names = append(names, name)
	}
	return names
}

// isLost reports whether Gemini does not have a file any more.
func (s *service) isLost(name string) bool {
	r := s.references[name]
	return !r.lost.IsZero() && !s.now().Before(r.lost)
}

// lookUp is what Gemini says of a file.
func (s *service) lookUp(name string) reply {
	if s.isLost(name) {
		return failedAs(http.StatusNotFound, "NOT_FOUND", "there is no such file")
	}
	shown := map[string]any{"name": name}
	if r := s.references[name]; r.says && !r.lost.IsZero() {
		shown["expirationTime"] = r.lost.UTC().Format(time.RFC3339Nano)
	}
	return reply{body: encoded(shown)}
}

// lost notes the files that a job's plan says Gemini does not have any more, which must be so [J15].
func (c *checker) lost(j job.Job) {
	if j.References.Gone == 0 {
		return
	}
	for l := range parsedAs[struct {
		Name string `json:"name"`
		Gone bool   `json:"gone"`
	}](c.w.objects.held[j.References.List.Name]) {
		if l.Gone {
			c.must(c.w.gemini.isLost(l.Name), "%s has no %s, which Gemini has [J15]", j.Key, l.Name)
			c.lostFiles[l.Name] = true
		}
	}
}

// sendsLost checks that no request of a batch names a file of which the job's plan said, as the part was started, that
// it is lost [J15].
func (c *checker) sendsLost(b *batch) {
	for _, l := range b.requests {
		job.ReferencesIn(l.Request, func(name string) {
			c.must(!c.lostFor[b.part][name], "the batch of %s has %s, which names %s: that was lost [J15]", b.part, l.Key, name)
		})
	}
}

// unsent checks a request that has ended without being sent: it names a file that is lost by the job's end. That it was
// lost already when the job's plan said so, lost proves [J15].
func (c *checker) unsent(s *submission, l line) {
	lost := false
	job.ReferencesIn(l.Request, func(name string) { lost = lost || c.w.gemini.isLost(name) })
	c.must(lost, "%s: %s is refused without being sent, and names nothing that is lost [J15]", s.key, l.Key)
	c.w.gate.met[metUnsent]++
}

// parsedAs reads the lines of an object as values.
func parsedAs[T any](o *object) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		if o == nil {
			return
		}
		for _, l := range parsed(o.content) {
			var value T
			_ = json.Unmarshal(o.content[l.begin:l.end], &value) // what it then is breaks an invariant
			if !yield(value) {
				return
			}
		}
	}
}
