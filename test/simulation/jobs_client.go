package simulation

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job/steps"
)

// base is the address that the real clients have for the simulated Gemini.
const base = "http://127.0.0.1"

// clients are the real clients that the steps of jobs have. Like that of look-ups they are one for all worlds.
type clients struct {
	batches *batches.Client
	results *results.Client
	cancel  *cancel.Client
}

var clientsOfJobs = sync.OnceValue(func() clients {
	o := api.Options{APIKey: "simulated", BaseURL: base, HTTP: &http.Client{Transport: jobTripper{}}}
	var c clients
	var errs [3]error
	c.batches, errs[0] = batches.NewClient(o)
	c.results, errs[1] = results.New(o)
	c.cancel, errs[2] = cancel.NewClient(o)
	if err := errors.Join(errs[:]...); err != nil {
		panic(err) // the options are this package's own
	}
	return c
})

// steps returns the real handlers of the steps of jobs.
func (a *actor) steps() map[string]effect.Handler {
	c := clientsOfJobs()
	return steps.Handlers(steps.Options{
		Ledger: a.ledger(), Storage: bucket{a}, Batches: c.batches, Results: c.results, Canceller: c.cancel, Now: time.Now,
		Log: slog.New(slog.DiscardHandler),
	})
}

// A jobTripper makes a request of a step, whose context knows the actor.
type jobTripper struct{}

// creating is the label of a creation.
const creating = "create a batch"

// The fates of the requests of steps. What matters most to them is drawn twice as often.
var (
	uploadFates = []fate{refused, answerLost, slow, frozen, diesBefore, diesAfter, busy}
	batchFates  = []fate{
		answerLost, late, answerLost, late, refused, slow, frozen, diesBefore, diesAfter, missing, busy, declined,
	}
	downloadFates = []fate{told, lacking, told, lacking, refused, slow, frozen, diesBefore, diesAfter, missing, busy}
	cancelFates   = []fate{refused, answerLost, late, slow, frozen, diesBefore, diesAfter, missing, busy}
	// referenceFates have no answer that a file is lost which is not: what Gemini says twice is believed.
	referenceFates = []fate{refused, slow, frozen, diesBefore, diesAfter, busy, told}
	deleteFates    = []fate{refused, answerLost, slow, diesBefore, diesAfter}
)

// RoundTrip makes the request.
func (jobTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(actorKey{}).(*actor)
	if !ok {
		return nil, errors.New("simulated: a request of no actor")
	}
	var body []byte
	if r.Body != nil {
		defer r.Body.Close() //nolint:errcheck // it was read, or cannot be
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("simulated: reading a request: %w", err)
		}
	}
	s := a.w.gemini
	_, path, _ := strings.Cut(r.URL.Path, "/v1beta/")
	id, verb, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	if r.Method == http.MethodGet && verb == "" && !strings.HasPrefix(path, "files/") {
		return s.serve(a, r, "confirm", askFates)
	}
	e := s.toDo(r, id, verb, body)
	e.outside = true
	return s.exchange(a, r, e)
}

// toDo returns what a request of a step asks for.
func (s *service) toDo(r *http.Request, id, verb string, body []byte) exchange {
	switch {
	case verb == "download":
		return exchange{label: "download " + short(id), fates: downloadFates, do: func(f fate) reply {
			if f == missing {
				return failed(http.StatusNotFound)
			}
			return s.busyOr(f, func() reply { return s.download(strings.TrimPrefix(id, "batch-"), f == lacking) })
		}}
	case verb == "cancel":
		return exchange{label: "cancel " + short(id), fates: cancelFates, do: func(f fate) reply {
			if f == missing {
				return failed(http.StatusNotFound)
			}
			return s.busyOr(f, func() reply { return s.cancelFor(id) })
		}}
	case verb == "batchGenerateContent":
		sent, byStore := time.Now(), s.w.store.now()
		return exchange{label: creating, fates: batchFates, soon: true, do: func(f fate) reply {
			return s.createFor(body, f, sent, byStore)
		}}
	case r.Method == http.MethodGet:
		return exchange{label: "look up " + id, fates: referenceFates, do: func(f fate) reply {
			return s.busyOr(f, func() reply { return s.lookUp("files/" + id) })
		}}
	case r.Method == http.MethodDelete:
		return exchange{label: "delete " + id, fates: deleteFates, do: func(fate) reply {
			delete(s.files, "files/"+id)
			return reply{body: []byte("{}")}
		}}
	case r.URL.Query().Has("upload_id"):
		return exchange{label: "upload a piece", fates: uploadFates, do: func(f fate) reply {
			return s.busyOr(f, func() reply { return s.piece(r, body) })
		}}
	default:
		return exchange{label: "start an upload", fates: uploadFates, do: func(f fate) reply {
			return s.busyOr(f, s.startUpload)
		}}
	}
}

// busyOr asks for patience, or does what was asked for.
func (s *service) busyOr(f fate, do func() reply) reply {
	if f == busy {
		return failed(http.StatusTooManyRequests)
	}
	return do()
}

// piece takes the one piece of a file, or says whether it has it.
func (s *service) piece(r *http.Request, body []byte) reply {
	session := r.URL.Query().Get("upload_id")
	if r.Header.Get("X-Goog-Upload-Command") != "query" {
		if _, twice := s.finished[session]; !twice {
			s.finished[session] = s.finishUpload(session, body)
		}
		return s.finished[session]
	}
	if answer, is := s.finished[session]; is {
		return answer
	}
	return reply{body: []byte("{}"), header: map[string]string{
		"X-Goog-Upload-Status": "active", "X-Goog-Upload-Size-Received": "0",
	}}
}
