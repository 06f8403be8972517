package server

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// resultsComplete says whether an answer has all results of a job, or those that are final so far.
	resultsComplete = "Opledger-Complete"
	// resultsPause is how long a reader of results may take nothing of them.
	resultsPause = time.Minute
)

// getResults answers GET /operations/jobs/{id}/results with the results of a job as JSON Lines; with ?kind=failed
// or ?kind=unmatched with those, with ?merged=true with those of its redrives, too. Where reading them fails in the
// middle the connection is cut off.
func (s *Server) getResults(w http.ResponseWriter, r *http.Request) {
	key, kind, err := parseResults(r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	unhurried(w)
	ended, err := files.Ended(r.Context(), s.Ledger, s.jobs, key, kind)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	answer := &resultsAnswer{
		ResponseWriter: w, connection: http.NewResponseController(w), head: r.Method == http.MethodHead,
		complete: ended,
	}
	s.sendResults(r, answer, key, func() error {
		_, err := files.Copy(r.Context(), s.Ledger, s.jobs, key, kind, answer)
		return err //nolint:wrapcheck // it says which
	})
}

// sendResults sends what is copied into an answer to its end, or cuts it off.
func (s *Server) sendResults(r *http.Request, answer *resultsAnswer, key operation.Key, send func() error) {
	err := send()
	switch {
	case err == nil || answer.head && errors.Is(err, http.ErrBodyNotAllowed):
		answer.begin()
		answer.pace() // for what is still in a buffer
	case !answer.began:
		httpfunc.WriteError(answer.ResponseWriter, err)
	default:
		s.options.Log.WarnContext(r.Context(), "results not sent to their end", "event", "job", "outcome", "error",
			"operation", key, "error", err)
		panic(http.ErrAbortHandler) // which is how a reader sees that it has not all
	}
}

// parseResults returns whose results are asked for, and which. The error is a *httpfunc.Error.
func parseResults(r *http.Request) (operation.Key, string, error) {
	var problems operation.Problems
	key, err := operation.JobKey(r.PathValue("id"))
	problems.When(err != nil, "id", "%w", err)
	kind, merged := files.Results, false
	for parameter, values := range r.URL.Query() {
		switch {
		case parameter == "merged" && values[0] == "true":
			merged = true
		case parameter == "merged":
			problems.Add("merged", "it must be true, not %s", diag.QuoteUpTo(values[0], 100))
		case parameter != "kind":
			problems.Add(diag.Quote(parameter), "there is no such parameter; the only ones are kind and merged")
		case values[0] != files.Results && values[0] != files.Failed && values[0] != files.Unmatched:
			problems.Add("kind", "it must be results, failed or unmatched, not %s", diag.QuoteUpTo(values[0], 100))
		default:
			kind = values[0]
		}
	}
	problems.When(merged && kind != files.Results, "merged", "it is for results; %s are those of one job", kind)
	if len(problems) > 0 {
		return key, kind, invalid("request", problems.Err())
	}
	if merged {
		kind = files.Merged
	}
	return key, kind, nil
}

// A resultsAnswer sends its headers with the first byte, so that an error before it has an answer of its own.
type resultsAnswer struct {
	http.ResponseWriter
	connection *http.ResponseController
	complete   bool
	head       bool // only the headers are asked for
	began      bool
}

func (a *resultsAnswer) begin() {
	if a.began {
		return
	}
	a.began = true
	a.Header().Set("Content-Type", "application/x-ndjson")
	a.Header().Set(resultsComplete, strconv.FormatBool(a.complete))
	a.Header().Set("Connection", "close") // its write deadline would cut off the next answer
	a.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (a *resultsAnswer) Write(p []byte) (int, error) {
	if a.head {
		return 0, http.ErrBodyNotAllowed
	}
	a.begin()
	a.pace()
	return a.ResponseWriter.Write(p) //nolint:wrapcheck // the caller says what was sent
}

// pace cuts the connection off where its reader takes nothing for resultsPause.
func (a *resultsAnswer) pace() {
	_ = a.connection.SetWriteDeadline(time.Now().Add(resultsPause)) // a test's writer has no connection
}

// unhurried clears the read deadline of a request that has no body, so that its context does not depend on
// whether net/http does so: go1.26.8 does.
func unhurried(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a test's writer has no connection
}
