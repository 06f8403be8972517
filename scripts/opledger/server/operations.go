package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const (
	operationsPath = "/operations/"
	cancelVerb     = ":cancel"
	// listLimit is how many operations a page has unless limit says another number, and mostListed the most.
	listLimit, mostListed = 100, 1000
	maxState              = 40 // bytes that an answer repeats of a state
)

// listOperations answers GET /operations with a page of them, the newest first, and the cursor of the next page.
func (s *Server) listOperations(w http.ResponseWriter, r *http.Request) {
	filter, err := parseList(r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	page, err := s.Ledger.Operations.List(r.Context(), filter)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	reports := make([]operation.Report, len(page.Items))
	for i, rec := range page.Items {
		reports[i] = rec.Report()
	}
	httpfunc.WriteJSON(w, http.StatusOK, map[string]any{
		"operations": reports, "broken": len(page.Broken), "next": phrase.Cursor(page.Next),
	})
}

// parseList reads the parameters of a list. The error is a *httpfunc.Error.
func parseList(r *http.Request) (ledger.Filter, error) {
	filter := ledger.Filter{Limit: listLimit}
	var problems operation.Problems
	for parameter, values := range r.URL.Query() {
		var err error
		switch text := values[0]; parameter {
		case "state":
			filter.States, err = parseStates(values)
		case "collection":
			var known bool
			if filter.Collection, known = operation.ParseCollection(text); !known {
				err = fmt.Errorf("it must be %s", diag.OneOf(append(operation.Collections(), operation.Jobs)))
			}
		case "jobKind":
			filter.JobKind = text
			_, err = path.Match(text, "")
		case "pending":
			if filter.Pending = text == "true"; !filter.Pending {
				err = errors.New("it must be true, or left out")
			}
		case "since":
			if filter.Since, err = time.Parse(time.RFC3339, text); err != nil {
				err = errors.New("it must be a time, such as 2026-11-24T00:00:00Z")
			}
		case "limit":
			if filter.Limit, err = strconv.Atoi(text); err != nil || filter.Limit < 1 || filter.Limit > mostListed {
				err = errors.New("it must be a number from 1 to " + strconv.Itoa(mostListed))
			}
		case "after":
			filter.After, err = phrase.ParseCursor(text)
		default:
			parameter, err = diag.Quote(parameter), errors.New(
				"there is no such parameter; write state, collection, jobKind, pending, since, limit or after")
		}
		if err != nil {
			problems.Add(parameter, "%w", err)
		}
	}
	if len(problems) > 0 {
		return filter, invalid("request", problems.Err())
	}
	return filter, nil
}

// parseStates returns states, each once.
func parseStates(texts []string) ([]operation.State, error) {
	var states []operation.State
	for _, text := range texts {
		state := operation.State(text)
		if !state.Known() {
			return nil, fmt.Errorf("it must be %s, not %s", diag.OneOf(operation.States()), diag.QuoteUpTo(text, maxState))
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return states, nil
}

// forgetOperation answers DELETE /operations/{name}: everything recorded about it is deleted.
func (s *Server) forgetOperation(w http.ResponseWriter, r *http.Request) {
	key, err := keyIn(strings.TrimPrefix(r.URL.Path, operationsPath))
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	n, err := s.Ledger.Operations.Forget(r.Context(), key)
	httpfunc.WriteResult(w, http.StatusOK, map[string]any{"operation": key, "deleted": n}, err)
}

// decideOperation answers POST /operations/{name}:cancel, whose body has who and why.
func (s *Server) decideOperation(w http.ResponseWriter, r *http.Request) {
	name, cancels := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, operationsPath), cancelVerb)
	if !cancels {
		httpfunc.NotAllowed(w, http.MethodGet, http.MethodDelete)
		return
	}
	key, err := keyIn(name)
	var d ledger.Decision
	if err == nil {
		d, err = readDecision(w, r)
	}
	actions := s.Actions()
	if err == nil && actions.AskToCancel == nil && key.Collection() != operation.Jobs {
		err = httpfunc.Errorf(http.StatusNotImplemented, "Gemini cannot be asked: set GEMINI_API_KEY")
	}
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	stands, words, err := actions.Cancel(r.Context(), key, d)
	if answer, refused := errors.AsType[*api.Error](err); refused && answer.Refused() {
		err = httpfunc.Reasonf(http.StatusConflict, "refused-by-gemini", "%v", err)
	} else if errors.Is(err, cancel.ErrUnsupported) {
		err = httpfunc.Errorf(http.StatusBadRequest, "%v", err)
	}
	httpfunc.WriteResult(w, http.StatusOK,
		stands.JSON("cancelRequested", map[string]any{"operation": key, "words": words}), err)
}

// A LookedUp is what POST /reconcile?operation=NAME answers.
type LookedUp struct {
	Operation operation.Key    `json:"operation"`
	State     operation.State  `json:"state,omitempty"`
	Outcome   ledger.Outcome   `json:"outcome,omitempty"`
	Reason    operation.Reason `json:"reason,omitempty"`
	Words     string           `json:"words,omitempty"`
	// Failed says why nothing was learned: an answer, too.
	Failed string `json:"failed,omitempty"`
}

// NewLookedUp is what a look-up of an operation ended with.
func NewLookedUp(receipt ledger.Receipt, words string) LookedUp {
	return LookedUp{
		Operation: receipt.Key, State: receipt.State, Outcome: receipt.Outcome, Reason: receipt.Reason, Words: words,
	}
}

// passOrLookUp answers POST /reconcile with a pass, or with ?operation=NAME by a look-up of that operation.
func (s *Server) passOrLookUp() http.Handler {
	one := httpfunc.OnlyPOST(http.HandlerFunc(s.lookUp))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("operation") {
			one.ServeHTTP(w, r)
			return
		}
		s.reconcile.ServeHTTP(w, r)
	})
}

func (s *Server) lookUp(w http.ResponseWriter, r *http.Request) {
	key, err := keyIn(r.URL.Query().Get("operation"))
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	receipt, words, err := s.Actions().LookUp(r.Context(), key)
	answer := NewLookedUp(receipt, words)
	if err != nil {
		answer = LookedUp{Operation: key, Failed: err.Error()}
	}
	httpfunc.WriteJSON(w, http.StatusOK, answer)
}

// keyIn returns the key of the operation that a path names.
func keyIn(text string) (operation.Key, error) {
	name, err := operation.ParseName(text, "")
	return name.Key, err //nolint:wrapcheck // it says what is wrong with the name
}

// readDecision reads {"by","why"}.
func readDecision(w http.ResponseWriter, r *http.Request) (d ledger.Decision, err error) {
	body, err := httpfunc.ReadBody(w, r)
	if err != nil {
		return d, err
	}
	var given struct{ By, Why string }
	if json.Unmarshal(body, &given) != nil || given.By == "" || given.Why == "" {
		return d, httpfunc.Errorf(http.StatusBadRequest,
			`write {"by":"ann","why":"the prompt was wrong"}: both are recorded`)
	}
	return ledger.Decision(given), nil
}
