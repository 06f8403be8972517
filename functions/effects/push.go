package effects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
)

// EventType is the type of the CloudEvents that the function accepts.
const EventType = "google.cloud.pubsub.topic.v1.messagePublished"

var errRedeliver = errors.New("the message must be redelivered")

// result is the body of the answer.
type result struct {
	Outcome effect.Outcome `json:"outcome"`
	Reason  ledger.Verdict `json:"reason"`
	Attempt int            `json:"attempt,omitempty"`
	// Replay is what an operator's message changed; Detail is why it changed nothing.
	Replay ledger.ReplayOutcome `json:"replay,omitempty"`
	Detail string               `json:"detail,omitempty"`
}

func resultOf(report effect.Report) result {
	r := result{
		Outcome: report.Outcome, Reason: report.Verdict, Attempt: report.Lease.Attempt, Replay: report.Replay.Outcome,
	}
	if report.Outcome == effect.Skipped && report.Cause != nil {
		r.Detail = report.Cause.Error()
	}
	return r
}

func (f Function) post(w http.ResponseWriter, r *http.Request) {
	m, err := f.read(w, r)
	if err != nil {
		f.Log.ErrorContext(r.Context(), "effect message not read", "event", "effect", "outcome", outcomeOf(err), "error", err)
		httpfunc.WriteError(w, err)
		return
	}
	ctx, cancel := f.bounded(r.Context())
	defer cancel()
	report, err := f.Run(ctx, m)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	if report.Again() {
		httpfunc.WriteError(w, &httpfunc.Error{
			Status: http.StatusServiceUnavailable, RetryAfter: report.RetryAfter,
			Message: fmt.Sprintf("%s: %v", report.Outcome, errRedeliver),
		})
		return
	}
	httpfunc.WriteJSON(w, http.StatusOK, resultOf(report))
}

// outcomeOf returns the outcome of a message that could not be read: malformed if it never can be.
func outcomeOf(err error) string {
	if unread, ok := errors.AsType[*httpfunc.Error](err); ok && unread.Status != http.StatusRequestEntityTooLarge {
		return "error"
	}
	return "malformed"
}

func (f Function) read(w http.ResponseWriter, r *http.Request) (ledger.Message, error) {
	body, err := httpfunc.ReadBody(w, r)
	if err != nil {
		return ledger.Message{}, err
	}
	read, err := httpfunc.AwaitTurn(r.Context(), body)
	if err != nil {
		return ledger.Message{}, err
	}
	defer read()
	structured := strings.HasPrefix(r.Header.Get("Content-Type"), event.ApplicationCloudEventsJSON)
	if r.Header.Get("Ce-Type") == "" && !structured {
		return parse(body)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	e, err := binding.ToEvent(r.Context(), cehttp.NewMessageFromHttpRequest(r))
	if err != nil {
		return ledger.Message{}, fmt.Errorf("%w: it is not a CloudEvent: %w", ledger.ErrMessage, err)
	}
	return parseEvent(*e)
}

func parseEvent(e event.Event) (ledger.Message, error) {
	if e.Type() != EventType {
		return ledger.Message{}, fmt.Errorf("%w: it is a %s, not a %s", ledger.ErrMessage, diag.Quote(e.Type()), EventType)
	}
	m, err := parse(e.Data())
	m.ID = cmp.Or(m.ID, e.ID())
	return m, err
}

// A pushed is the part of a Pub/Sub push, and of the CloudEvent made of one, that the function
// reads.
type pushed struct {
	Message *struct {
		Data []byte `json:"data"`
		ID   string `json:"messageId"`
	} `json:"message"`
}

// parse reads the effect message in a push. The error wraps ledger.ErrMessage.
func parse(push []byte) (ledger.Message, error) {
	var p pushed
	if err := json.Unmarshal(push, &p); err != nil {
		return ledger.Message{}, fmt.Errorf("%w: it is not a Pub/Sub message: %w", ledger.ErrMessage, err)
	}
	if p.Message == nil {
		return ledger.Message{}, fmt.Errorf(
			`%w: it has no "message"; it must be a push of Pub/Sub, {"message":{"data":BASE64}}`, ledger.ErrMessage)
	}
	m, err := ledger.ParseMessage(p.Message.Data)
	m.ID = p.Message.ID
	return m, err
}
