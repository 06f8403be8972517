// Package webhook is the public HTTP function that receives Gemini's deliveries. It checks the
// signature over the raw bytes of the body, decodes the event and ingests it into the ledger: see
// accept.go. What a delivery changes is committed before it is answered 200 [W3]. After a crash in
// between Gemini redelivers it, and the ledger knows it by its id: a duplicate. Effects that were
// planned and not published by then are published by the next reconcile pass.
//
// A static webhook signs the body. A dynamic webhook's token proves who sent a delivery, but does not cover
// its body. Such a delivery is unverified: Gemini is asked for the operation, and the delivery is ingested
// only if Gemini reports the same state.
//
//	delivery                                       answer
//	wrong signature or token, time not tolerated   401, nothing written [W1, W2]
//	not POST, body too large                       405, 413, nothing written [W7]
//	body too slow, bodies fill the memory          408, 503, nothing written [W7]
//	ingested: applied, dropped, duplicate, conflict  200 [M8, W4]
//	cannot be decoded                              200 quarantined [W6]
//	of an unknown event type                       200 ignored, kept in quarantine [W6]
//	unverified, of an unknown operation            200 ignored, nothing written
//	unverified, and not confirmed by Gemini        503 with Retry-After
//	no signing secret, or no API key to confirm    503 with Retry-After
//	the store does not commit within Timeout       503 with Retry-After [W3]
//	a newer revision of opledger wrote the record  503 with Retry-After [L6]
//
// Gemini redelivers what is not answered 2xx, for 24 hours. The numbers in brackets are those of shared/RULES.md.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// Options are the settings and dependencies of the function. Ledger, Gate, Timeout, Now and Log are required.
type Options struct {
	Ledger *ledger.Ledger
	Gate   *trust.Gate
	// Confirm says which deliveries are unverified. Confirmer asks Gemini about those. It may be nil if
	// there are none.
	Confirm   trust.Policy
	Confirmer *confirm.Confirmer
	// Count, if not nil, is called once for each delivery that is refused, with the reason, or accepted,
	// with "". It is not called for an accepted delivery of the canary. It must not block.
	Count func(refused string)
	// Timeout bounds the handling of one delivery. Up to 10 s are safe: Gemini waits for an answer for longer.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// New returns the function, which accepts only POST.
func New(o Options) http.Handler {
	if o.Count == nil {
		o.Count = func(string) {}
	}
	return httpfunc.OnlyPOST(handler{o, &sampler{}})
}

type handler struct {
	Options
	refusals *sampler
}

// quarantined is an outcome that only this package has: ledger.Ingest never returns it.
const quarantined ledger.Outcome = "quarantined"

// An Answer is the body of a 200.
type Answer struct {
	Outcome    ledger.Outcome   `json:"outcome"`
	Reason     operation.Reason `json:"reason"`
	Registered bool             `json:"registered"`
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Now()
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	// For a static webhook the gate reads the body, once the headers have the right form: anybody can write
	// such headers, so ReadBody bounds size and time. For a dynamic one the body is read after it.
	read := sync.OnceValues(func() ([]byte, error) { return httpfunc.ReadBody(w, r) })
	proof, err := h.Gate.Verify(ctx, r.Header, read, h.Now())
	var body []byte
	if err == nil {
		body, err = read()
	}
	if err != nil {
		reason, answer := refusal(err)
		if h.refusals.refused(ctx, h.Log, reason, h.Now()) {
			h.logOf(r).WarnContext(ctx, "delivery refused", "event", "auth", "outcome", "refused", "reason", reason,
				"error", withRemedy(err))
		}
		h.Count(reason)
		httpfunc.WriteError(w, answer)
		return
	}
	h.refusals.turn(ctx, h.Log, h.Now())
	receipt, err := h.accept(r, body, proof)
	if err != nil {
		h.fail(w, r, receipt, err)
		return
	}
	h.logAccepted(r, receipt, proof, h.Now().Sub(began))
	if !receipt.Key.IsCanary() { // a canary's delivery does not come from Gemini
		h.Count("")
	}
	httpfunc.WriteJSON(w, http.StatusOK, Answer{
		Outcome: receipt.Outcome, Reason: receipt.Reason, Registered: receipt.Registered,
	})
}

// fieldsOf are the fields of every line about a delivery. Any caller may send the id, so the log keeps 200
// characters of it.
func fieldsOf(r *http.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("delivery", fmt.Sprintf("%.200s", r.Header.Get(gemini.HeaderID))),
		slog.String("source", string(operation.Webhook)),
	}
}

// logOf is a log of lines about a delivery. To make one costs more than a line, so that the line which
// every delivery has is logged without.
func (h handler) logOf(r *http.Request) *slog.Logger {
	return slog.New(h.Log.Handler().WithAttrs(fieldsOf(r)))
}

// logAccepted logs the outcome of a delivery that is answered 200. Among the fields, announced means that
// this delivery settled a registered operation, and bound=false that no signature covers the body. The fields
// correlated and disputed are those of [ledger.Receipt], which also says what a twin is and when effects
// are withheld. The lines are in the trace of the submission, where there was one.
func (h handler) logAccepted(r *http.Request, receipt ledger.Receipt, proof trust.Proof, took time.Duration) {
	ctx := logging.InTrace(r.Context(), receipt.TraceParent.Trace())
	event, level, message := "ingest", slog.LevelInfo, ""
	if receipt.Key == "" && proof.Bound {
		event = "quarantine" // no operation was decoded; this or an earlier delivery put its body in quarantine
	}
	if receipt.Outcome == quarantined {
		level, message = slog.LevelWarn, "delivery in quarantine" // it may report a completion: the operator should check it
	}
	if !receipt.Registered && receipt.Key.IsCanary() {
		event = "canary" // no metric counts it: it does not come from Gemini
	}
	line := fieldsOf(r)
	if receipt.Correlated { // like the next ones only where it holds: each delivery has a line
		line = append(line, slog.Bool("correlated", true))
	}
	if receipt.Disputed != "" {
		line = append(line, slog.String("disputed", string(receipt.Disputed)))
	}
	announced := receipt.Settled && receipt.Registered
	if announced {
		line = append(line, slog.Float64("settled_seconds", receipt.After.Round(time.Millisecond).Seconds()))
	}
	if !proof.Bound {
		line = append(line, slog.Bool("bound", false))
	}
	h.Log.LogAttrs(ctx, level, message, append(line,
		slog.String("event", event), slog.String("operation", string(receipt.Key)),
		slog.String("outcome", string(receipt.Outcome)), slog.String("reason", string(receipt.Reason)),
		slog.Bool("registered", receipt.Registered), slog.String("state", string(receipt.State)),
		slog.Int("effects", receipt.Planned), slog.Bool("announced", announced),
		slog.Int64("duration_ms", took.Milliseconds()))...)
	if receipt.Twin {
		h.logOf(r).ErrorContext(ctx, ledger.TwinMessage, "event", "alert", "reason", "twin", "operation", receipt.Key)
	}
	if receipt.Withheld > 0 {
		h.logOf(r).WarnContext(ctx, ledger.WithheldMessage, "event", "effect", "outcome", "withheld",
			"operation", receipt.Key, "effects", receipt.Withheld)
	}
	if receipt.PublishErr != nil {
		h.logOf(r).WarnContext(ctx, "effects wait for the sweep", "event", "effect", "outcome", "unpublished",
			"operation", receipt.Key, "error", receipt.PublishErr)
	}
}

// fail logs a delivery that was not accepted, and answers so that Gemini redelivers it. The answer is 503
// if it was not confirmed or Timeout was over; else [httpfunc.WriteError] chooses the status. The commit may
// have been made all the same: then the redelivery is a duplicate.
func (h handler) fail(w http.ResponseWriter, r *http.Request, receipt ledger.Receipt, err error) {
	level, outcome, reason, answer := slog.LevelError, httpfunc.OutcomeOf(err), "", err
	if unconfirmed, ok := errors.AsType[*confirm.UnconfirmedError](err); ok {
		level, outcome, reason = slog.LevelWarn, "unconfirmed", unconfirmed.Reason
		answer = &httpfunc.Error{
			Status: http.StatusServiceUnavailable, Message: unconfirmed.Error(), RetryAfter: unconfirmed.RetryAfter,
		}
	} else if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		reason = "timeout"
		message := fmt.Sprintf("the delivery was not accepted within %s", h.Timeout)
		answer = &httpfunc.Error{Status: http.StatusServiceUnavailable, Message: message}
		err = fmt.Errorf("%s (OPLEDGER_WEBHOOK_TIMEOUT): %w", message, err)
	}
	h.logOf(r).Log(r.Context(), level, "delivery not accepted; Gemini redelivers it", "event", "ingest",
		"outcome", outcome, "operation", receipt.Key, "reason", reason, "error", err)
	httpfunc.WriteError(w, answer)
}
