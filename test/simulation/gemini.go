package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// A job is what Gemini runs.
type job struct {
	name        operation.Name
	correlation string
	created     time.Time // by Gemini's clock, like the others
	runs, ends  time.Time // ends is zero where it never does
	end         operation.State
	items       int // of its result
	// forged: a delivery names another end.
	forged bool
}

// state returns the job's state at a time, and since when.
func (j *job) state(at time.Time) (operation.State, time.Time) {
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
	w    *World
	skew time.Duration
	jobs []*job
	// announced are the events of its jobs.
	announced []operation.Event
	asked     map[operation.Key]int // requests about one job that arrived, whatever they were answered
}

func (s *service) now() time.Time { return time.Now().Add(s.skew) }

// create starts the job of an order, once the request arrives.
func (s *service) create(ctx context.Context, a *actor, o *order, mark submit.Mark) (string, error) {
	var name string
	err := a.send(ctx, &call{
		label: func() string { return a.name + ": create the job" }, fates: createFates,
		unavailable: genai.APIError{Code: http.StatusServiceUnavailable, Message: "simulated"},
		do:          func() error { name = s.start(o, mark.CorrelationID).name.Resource; return nil },
		handle:      nil,
	})
	if err != nil {
		return "", err
	}
	return name, nil
}

// start makes a job, and plans its deliveries.
func (s *service) start(o *order, correlation string) *job {
	resource := fmt.Sprintf("batches/%036d", len(s.jobs)+1)
	now := s.now()
	j := &job{
		name: operation.Name{Key: operation.Key(resource), Resource: resource}, correlation: correlation,
		created: now, runs: now.Add(o.runsAfter), end: o.end, items: o.items, forged: o.forged,
	}
	if o.endsAfter > 0 {
		j.ends = now.Add(o.endsAfter)
	}
	s.jobs = append(s.jobs, j)
	o.jobs = append(o.jobs, j)
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
func (s *service) announce(j *job, what string, state operation.State, since time.Time, after time.Duration) {
	id := fmt.Sprintf("msg-%s-%s", j.name.Key.ID()[34:], what)
	e := operation.Event{
		Name: j.name, DeliveryID: id, Source: operation.Webhook, Type: "batch." + what, State: state, UpdateTime: since,
		CorrelationID: j.correlation,
	}
	s.announced = append(s.announced, e)
	s.w.at(after, func() { s.w.deliver(e, 1) })
}

// lookups is the real client of the look-ups. It is one for all worlds: the context of a request says
// which world it is of.
var lookups = sync.OnceValue(func() *lookup.Client {
	client, err := lookup.NewClient(lookup.Options{
		APIKey: "simulated", BaseURL: "http://127.0.0.1", HTTP: &http.Client{Transport: roundTripper{}},
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

// serve answers a request of a real client, whose purpose the label names.
func (s *service) serve(a *actor, r *http.Request, purpose string, fates []fate) (*http.Response, error) {
	_, path, _ := strings.Cut(r.URL.Path, "/v1beta/")
	answer := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
	}
	asked := func() {
		if purpose == lookingUp {
			s.asked[operation.Key(path)]++
		}
	}
	var body []byte
	ask := &call{
		label: func() string { return a.name + ": " + purpose + " " + short(path) }, fates: fates,
		unavailable: errNoAnswer,
		do: func() error {
			asked()
			body = s.answer(path, s.now())
			return nil
		},
	}
	status := 0
	ask.handle = func(f fate) bool {
		switch f {
		case stale:
			body = s.answer(path, s.now().Add(-staleFor(path)))
		case missing:
			status = http.StatusNotFound
		case busy:
			status = http.StatusTooManyRequests
		default:
			return false
		}
		asked()
		s.w.gate.reply(ask, nil)
		return true
	}
	if err := a.send(r.Context(), ask); err != nil {
		return nil, err
	}
	if body == nil && status == 0 {
		status = http.StatusNotFound
	}
	if status != 0 {
		answer.StatusCode, body = status, fmt.Appendf(nil, `{"error":{"code":%d,"message":"simulated"}}`, status)
	}
	answer.Body = io.NopCloser(strings.NewReader(string(body)))
	answer.Header.Set("Content-Type", "application/json")
	return answer, nil
}

// staleFor returns how old a stale answer is. The submitter relies on a list that has what was created
// five minutes ago [G6]; an answer about one job may be older.
func staleFor(path string) time.Duration {
	if path == string(operation.Batches) {
		return listStaleBy
	}
	return staleBy
}

// answer returns what Gemini says of a resource at a time; nil where it has none of that name.
func (s *service) answer(path string, at time.Time) []byte {
	if path == string(operation.Batches) {
		list := []map[string]any{}
		for _, j := range s.jobs {
			if !j.created.After(at) {
				list = append(list, j.resource(at, s.w.gate.steps))
			}
		}
		return encoded(map[string]any{"operations": list})
	}
	i := slices.IndexFunc(s.jobs, func(j *job) bool { return j.name.Resource == path })
	if i < 0 || s.jobs[i].created.After(at) {
		return nil
	}
	return encoded(s.jobs[i].resource(at, s.w.gate.steps))
}

// resource is the job as the API shows it.
func (j *job) resource(at time.Time, step int) map[string]any {
	state, since := j.state(at)
	metadata := map[string]any{
		"state": "BATCH_STATE_" + string(state), "displayName": simulated.DisplayName("", j.correlation),
		"createTime": j.created.UTC().Format(time.RFC3339Nano), "updateTime": since.UTC().Format(time.RFC3339Nano),
	}
	if output := j.output(state, step); output != nil {
		metadata["output"], metadata["batchStats"] = output, map[string]any{"requestCount": strconv.Itoa(j.items)}
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
