// Package register is the function that submitters tell about their operations: over HTTP, behind IAM. It makes the record
// that everything else rests on [L2].
package register

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/function"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Options are what the function works with.
type Options struct {
	Ledger *ledger.Ledger
	Now    func() time.Time
	Log    *slog.Logger
}

// New returns the function. It answers 201 with the record of an operation that is new, 200 with the record as it stands of
// one that is known, and 400 with every problem of the request.
func New(o Options) http.Handler {
	return function.OnlyPOST(handler(o))
}

type handler Options

// A Request is the body of a registration.
type Request struct {
	// Name is the operation's resource name, in any form [K1].
	Name          string          `json:"name"`
	JobKind       string          `json:"jobKind,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	SubmittedAt   *time.Time      `json:"submittedAt,omitempty"`
	CorrelationID string          `json:"correlationId,omitempty"`
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Now()
	ctx := r.Context()
	body, err := function.ReadBody(w, r)
	if err != nil {
		function.Fail(w, err)
		return
	}
	registration, err := Parse(body, began)
	if err != nil {
		function.Fail(w, err)
		return
	}
	result, err := h.Ledger.Register(ctx, registration)
	log := h.Log.With("event", "register", "operation", registration.Name.Key)
	if err != nil {
		log.ErrorContext(ctx, "registration not taken", "outcome", "error", "error", err)
		function.Fail(w, err)
		return
	}
	if result.PublishErr != nil {
		log.WarnContext(ctx, "effects wait for the sweep", "outcome", "unpublished", "error", result.PublishErr)
	}
	if result.CorrelationErr != nil {
		log.WarnContext(ctx, "registered without its correlation id", "outcome", "unbound", "error", result.CorrelationErr)
	}
	outcome, status := "known", http.StatusOK
	if result.Created {
		outcome, status = "created", http.StatusCreated
	}
	log.InfoContext(ctx, "operation registered", "outcome", outcome, "state", result.Record.State,
		"effects", result.Planned, "duration_ms", h.Now().Sub(began).Milliseconds())
	function.Answer(w, status, result.Record)
}

const (
	maxLabel = 256       // bytes of a job kind or correlation id
	maxAhead = time.Hour // how far a submitter's clock may be ahead
)

// Parse reads a registration. The error is a *function.Error with every problem.
func Parse(body []byte, now time.Time) (ledger.Registration, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return ledger.Registration{}, bad("the body is not a registration, which is " +
			`{"name","jobKind","metadata","submittedAt","correlationId"}: ` + err.Error())
	}
	var request Request
	known := map[string]struct {
		into any
		kind string
	}{
		"name":          {&request.Name, "a text"},
		"jobKind":       {&request.JobKind, "a text"},
		"metadata":      {&request.Metadata, "an object"},
		"submittedAt":   {&request.SubmittedAt, "a time such as 2026-01-22T12:00:00Z"},
		"correlationId": {&request.CorrelationID, "a text"},
	}
	var problems []string
	unread := map[string]bool{}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		f, ok := known[field]
		if !ok {
			problems = append(problems, fmt.Sprintf("%.100q: there is no such field", field))
		} else if err := json.Unmarshal(fields[field], f.into); err != nil {
			unread[field] = true
			problems = append(problems, fmt.Sprintf("%s: it must be %s", field, f.kind))
		}
	}
	registration, err := request.Registration(now)
	var invalid *function.Error
	if errors.As(err, &invalid) {
		for _, problem := range invalid.Problems {
			if field, _, _ := strings.Cut(problem, ":"); !unread[field] {
				problems = append(problems, problem)
			}
		}
	}
	if len(problems) > 0 {
		return ledger.Registration{}, bad(problems...)
	}
	return registration, err
}

// Registration checks the request. The error is a *function.Error with every problem.
func (request Request) Registration(now time.Time) (ledger.Registration, error) {
	var problems []string
	name, err := operation.ParseName(request.Name, "")
	switch {
	case errors.Is(err, operation.ErrName):
		problems = append(problems, "name: "+err.Error())
	case name.Key.Collection() == "" && !strings.Contains(name.Resource, "/"):
		// A delivery or a look-up could never find it: the mistake would show as an operation that stays pending.
		problems = append(problems, fmt.Sprintf("name: %q does not say what it is; write batches/%[1]s, operations/%[1]s or interactions/%[1]s", name.Resource))
	}
	metadata, err := operation.ParseMetadata(request.Metadata)
	if err != nil {
		problems = append(problems, "metadata: "+err.Error())
	} else if len(metadata) > ledger.MaxMetadataBytes {
		problems = append(problems, fmt.Sprintf("metadata: %d bytes are more than %d", len(metadata), ledger.MaxMetadataBytes))
	}
	for _, label := range []struct{ field, value string }{{"jobKind", request.JobKind}, {"correlationId", request.CorrelationID}} {
		if len(label.value) > maxLabel {
			problems = append(problems, fmt.Sprintf("%s: %d bytes are more than %d", label.field, len(label.value), maxLabel))
		}
	}
	registration := ledger.Registration{
		Name: name, JobKind: request.JobKind, Metadata: metadata, CorrelationID: request.CorrelationID,
	}
	if request.SubmittedAt != nil {
		registration.SubmittedAt = *request.SubmittedAt
		if registration.SubmittedAt.After(now.Add(maxAhead)) {
			problems = append(problems, fmt.Sprintf("submittedAt: %s is in the future", registration.SubmittedAt.Format(time.RFC3339)))
		}
	}
	if len(problems) > 0 {
		return ledger.Registration{}, bad(problems...)
	}
	return registration, nil
}

func bad(problems ...string) error {
	return &function.Error{
		Status: http.StatusBadRequest, Message: "the registration cannot be taken: " + strings.Join(problems, "; "), Problems: problems,
	}
}
