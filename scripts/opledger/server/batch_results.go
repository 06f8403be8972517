package server

import (
	"io"
	"net/http"
	"strconv"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/operation"
)

// resultsRequests is how many requests a batch has, so that a reader sees whether one has no result.
const resultsRequests = "Opledger-Requests"

// getBatchResults answers GET /operations/batches/{id}/results with the results of a batch as JSON Lines: from where
// an effect has put them, else as Gemini has them. Where reading them fails in the middle the connection is cut off.
func (s *Server) getBatchResults(w http.ResponseWriter, r *http.Request) {
	rec, err := s.settledBatch(r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	unhurried(w)
	requests := int64(0)
	if counts := rec.Result.Counts; counts != nil {
		requests = counts.Total
		w.Header().Set(resultsRequests, strconv.FormatInt(counts.Total, 10))
	}
	answer := &resultsAnswer{
		ResponseWriter: w, connection: http.NewResponseController(w), head: r.Method == http.MethodHead, complete: true,
	}
	s.sendResults(r, answer, rec.Key, func() error {
		stored := results.Stored{
			Ledger: s.Ledger.Reading(), Effects: s.settings.Ledger.Effects, Emulator: s.settings.Handlers.StorageEmulator,
		}
		// The headers say whether it is whole, so it is read once before them.
		copied, err := results.CopyStored(r.Context(), io.Discard, stored, rec)
		if err == nil && copied.Found {
			answer.complete = copied.Whole(requests)
			if requests == 0 {
				w.Header().Set(resultsRequests, strconv.FormatInt(copied.Lines+copied.Deleted, 10))
			}
			_, err = results.CopyStored(r.Context(), answer, stored, rec)
		}
		if copied.Found || err != nil {
			return err //nolint:wrapcheck // it says where they are
		}
		if !s.settings.Gemini.IsSet() {
			return httpfunc.Errorf(http.StatusNotImplemented,
				"no effect has stored the results, and Gemini cannot be asked: set GEMINI_API_KEY")
		}
		client, err := cloud.Results(r.Context(), config.Results{Gemini: s.settings.Gemini, Wanted: true}, nil)
		if err != nil {
			return err
		}
		_, err = client.CopyLines(r.Context(), answer, rec)
		return err //nolint:wrapcheck // it says which
	})
}

// settledBatch returns the record of a batch that has ended. The error is a *httpfunc.Error, or the ledger's.
func (s *Server) settledBatch(r *http.Request) (operation.Record, error) {
	if len(r.URL.Query()) > 0 {
		return operation.Record{}, httpfunc.Errorf(http.StatusBadRequest,
			"the results of a batch have no parameters: kind and merged are of a job")
	}
	rec, err := s.Ledger.Operations.Read(r.Context(), operation.Key("batches/"+r.PathValue("id")))
	if err == nil && !rec.Settled() {
		err = httpfunc.Reasonf(http.StatusConflict, "not-settled", "%[1]s has no results yet: it is %[2]s; "+
			"wait for its end with GET /operations/%[1]s?wait=30s", rec.Key, rec.State)
	}
	return rec, err
}
