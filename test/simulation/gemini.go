package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	simulated "github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// A batch is what Gemini runs.
type batch struct {
	name        operation.Name
	correlation string
	created     time.Time // by Gemini's clock, like the others
	runs, ends  time.Time // ends is zero where it never does
	end         operation.State
	items       int // of its result
	// forged: a delivery names another end.
	forged bool
	*made  // of requests of a job; nil: it is none of a job
}

// state returns the batch's state at a time, and since when.
func (j *batch) state(at time.Time) (operation.State, time.Time) {
	switch {
	case !j.ends.IsZero() && !at.Before(j.ends):
		return j.end, j.ends
	case !at.Before(j.runs):
		return operation.Running, j.runs
	default:
		return operation.Pending, j.created
	}
}

// A service is a simulated Gemini.
type service struct {
	w       *World
	skew    time.Duration
	batches []*batch
	// announced are the events of its batches.
	announced []operation.Event
	asked     map[operation.Key]int // requests about one batch that arrived, whatever they were answered

	files map[string]*upload // that were uploaded for jobs, by name
	// references are the files that requests of jobs name, by name.
	references map[string]reference

	room     int   // how many batches of jobs run at most; 0: any number
	tokens   int64 // how many tokens these have at most; 0: any number
	listed   []listed
	sessions int              // of uploads
	finished map[string]reply // the last answer of a session
}

func (s *service) now() time.Time { return time.Now().Add(s.skew) }

// create starts the batch of an order, once the request arrives.
func (s *service) create(ctx context.Context, a *actor, o *order, mark submit.Mark) (string, error) {
	var name string
	err := a.send(ctx, &call{
		label: func() string { return a.name + ": create the batch" }, fates: createFates,
		unavailable: genai.APIError{Code: http.StatusServiceUnavailable, Message: "simulated"},
		do:          func() error { name = s.start(o, mark.CorrelationID, nil).name.Resource; return nil },
		handle:      nil,
	})
	if err != nil {
		return "", err
	}
	return name, nil
}

// start makes a batch, and plans its deliveries.
// m is what it is made of, for a job.
func (s *service) start(o *order, correlation string, m *made) *batch {
	resource := fmt.Sprintf("batches/%036d", len(s.batches)+1)
	now := s.now()
	j := &batch{
		name: operation.Name{Key: operation.Key(resource), Resource: resource}, correlation: correlation,
		created: now, runs: now.Add(o.runsAfter), end: o.end, items: o.items, forged: o.forged,
		made: m,
	}
	if o.endsAfter > 0 {
		j.ends = now.Add(o.endsAfter)
	}
	s.batches = append(s.batches, j)
	o.batches = append(o.batches, j)
	if o.silent {
		return j
	}
	s.announce(j, "running", operation.Running, j.runs, o.runsAfter)
	if o.endsAfter > 0 {
		s.announce(j, "end", j.end, j.ends, o.endsAfter)
	}
	if o.endsAfter > 0 && o.forged {
		s.announce(j, "forged", other(j.end), j.ends.Add(time.Second), o.endsAfter+time.Minute)
	}
	return j
}

// other returns another end.
func other(end operation.State) operation.State {
	if end == operation.Failed {
		return operation.Succeeded
	}
	return operation.Failed
}

// announce delivers an event after a while.
func (s *service) announce(j *batch, what string, state operation.State, since time.Time, after time.Duration) {
	id := fmt.Sprintf("msg-%s-%s", j.name.Key.ID()[34:], what)
	e := operation.Event{
		Name: j.name, DeliveryID: id, Source: operation.Webhook, Type: "batch." + what, State: state, UpdateTime: since,
		CorrelationID: j.correlation,
	}
	if state.Terminal() {
		e.Result = j.result()
	}
	s.announced = append(s.announced, e)
	s.w.at(after, func() {
		if j.made == nil || !s.changed(j, e) {
			s.w.deliver(e, 1)
		}
	})
}

// changed reports whether a batch of a job, which may be cancelled, has not ended as an event says.
func (s *service) changed(j *batch, e operation.Event) (changed bool) {
	s.w.gate.event(e.DeliveryID+" is due", func() {
		changed = e.State.Terminal() && (j.end != e.State || !j.ends.Equal(e.UpdateTime))
	})
	return changed
}

// lookups is the real client of the look-ups. It is one for all worlds: the context of a request says
// which world it is of.
var lookups = sync.OnceValue(func() *lookup.Client {
	client, err := lookup.NewClient(lookup.Options{
		APIKey: "simulated", BaseURL: base, HTTP: &http.Client{Transport: roundTripper{}},
	})
	if err != nil {
		panic(err) // the options are this package's own
	}
	return client
})

// What requests are for.
const (
	lookingUp = "ask Gemini for"
	fetching  = "fetch the result of"
)

// serve answers a request of a real client about a batch or their list, whose purpose the label names.
func (s *service) serve(a *actor, r *http.Request, purpose string, fates []fate) (*http.Response, error) {
	_, path, _ := strings.Cut(r.URL.Path, "/v1beta/")
	return s.exchange(a, r, exchange{label: purpose + " " + short(path), fates: fates, do: func(f fate) reply {
		if purpose == lookingUp {
			s.asked[operation.Key(path)]++
		}
		at := s.now()
		switch f {
		case missing:
			return failed(http.StatusNotFound)
		case busy:
			return failed(http.StatusTooManyRequests)
		case stale:
			at = at.Add(-staleFor(path))
		}
		if body := s.answer(path, at); body != nil {
			return reply{body: body}
		}
		return failed(http.StatusNotFound)
	}})
}

// staleFor returns how old a stale answer is. The submitter relies on a list that has what was created
// five minutes ago [G6]; an answer about one batch may be older.
func staleFor(path string) time.Duration {
	if path == string(operation.Batches) {
		return listStaleBy
	}
	return staleBy
}

// answer returns what Gemini says of a resource at a time; nil where it has none of that name.
func (s *service) answer(path string, at time.Time) []byte {
	if path == string(operation.Batches) {
		s.list(at)
		list := []map[string]any{}
		for _, j := range s.batches {
			if !j.created.After(at) {
				list = append(list, s.resource(j, at))
			}
		}
		return encoded(map[string]any{"operations": list})
	}
	i := slices.IndexFunc(s.batches, func(j *batch) bool { return j.name.Resource == path })
	if i < 0 || s.batches[i].created.After(at) {
		return nil
	}
	return encoded(s.resource(s.batches[i], at))
}

// resource is the batch as the API shows it.
func (s *service) resource(j *batch, at time.Time) map[string]any {
	state, since := j.state(at)
	metadata := map[string]any{
		"model": s.w.store.flaw.model(), "state": "BATCH_STATE_" + string(state),
		"displayName": simulated.DisplayName("", j.correlation),
		"createTime":  j.created.UTC().Format(time.RFC3339Nano), "updateTime": since.UTC().Format(time.RFC3339Nano),
	}
	if output := j.output(state, s.w.gate.steps); output != nil {
		metadata["output"], metadata["batchStats"] = output, map[string]any{"requestCount": strconv.Itoa(j.items)}
	}
	if j.made != nil {
		return j.described(metadata, state)
	}
	return map[string]any{"name": j.name.Resource, "metadata": metadata}
}

func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of texts
	}
	return text
}
