// Package webhook is the function that Gemini delivers to: public, over HTTP. It verifies the signature on the raw body,
// decodes the event, and hands it to the ledger. It answers 200 only when what it decided is durable [W3].
//
//	outcome               answer
//	signature or time off 401, nothing written [W1, W2]
//	not POST, too large   405, 413, nothing written [W7]
//	taken in              200 applied, dropped, duplicate or conflict [M8, W4]
//	cannot be understood  200 quarantined [W6]
//	unknown event type    200 ignored, kept like the above [W6]
//	store cannot take it  503 with Retry-After: the sender delivers again [W3]
package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/function"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Options are what the function works with.
type Options struct {
	Ledger *ledger.Ledger
	// Verifier is nil while there is no secret; then every delivery is answered 503, so that none is lost.
	Verifier *gemini.Verifier
	Now      func() time.Time
	Log      *slog.Logger
}

// New returns the function.
func New(o Options) http.Handler {
	return function.OnlyPOST(handler(o))
}

type handler Options

// The outcomes beside those of ledger.Ingest.
const (
	ignored     ledger.Outcome = "ignored"
	quarantined ledger.Outcome = "quarantined"
)

// answer is what a delivery that was taken is answered.
type answer struct {
	Outcome    ledger.Outcome   `json:"outcome"`
	Reason     operation.Reason `json:"reason"`
	Registered bool             `json:"registered"`
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Now()
	ctx := r.Context()
	// Anybody may send this header, before anything is verified.
	log := h.Log.With("delivery", fmt.Sprintf("%.200s", r.Header.Get(gemini.HeaderID)), "source", operation.Webhook)
	body, err := function.ReadBody(w, r)
	if err != nil {
		function.Fail(w, err)
		return
	}
	if err := h.verify(r.Header, body); err != nil {
		log.WarnContext(ctx, "delivery refused", "event", "auth", "outcome", "refused", "reason", refusal(err))
		function.Fail(w, err)
		return
	}
	a, receipt, err := h.take(r, body)
	if err != nil {
		log.ErrorContext(ctx, "delivery not taken in; the sender will deliver it again", "event", "ingest",
			"outcome", "error", "operation", receipt.Key, "error", err)
		function.Fail(w, err)
		return
	}
	event, level := "ingest", slog.LevelInfo
	if receipt.Key == "" {
		event = "quarantine" // also where it was a duplicate of one that is there
	}
	if a.Outcome == quarantined {
		level = slog.LevelWarn // it may be a completion: a person should look
	}
	log.Log(ctx, level, "delivery taken in", "event", event, "operation", receipt.Key, "outcome", a.Outcome,
		"reason", a.Reason, "registered", a.Registered, "state", receipt.State, "effects", receipt.Planned, "withheld", receipt.Withheld,
		"duration_ms", h.Now().Sub(began).Milliseconds())
	if receipt.PublishErr != nil {
		log.WarnContext(ctx, "effects wait for the sweep", "event", "effect", "outcome", "unpublished",
			"operation", receipt.Key, "error", receipt.PublishErr)
	}
	function.Answer(w, http.StatusOK, a)
}

// verify returns nil for a body that Gemini signed within the tolerance.
func (h handler) verify(header http.Header, body []byte) error {
	if h.Verifier == nil {
		return &function.Error{
			Status:  http.StatusServiceUnavailable,
			Message: "no webhook secret is set yet; set OPLEDGER_WEBHOOK_SECRET",
		}
	}
	if err := h.Verifier.Verify(header, body, h.Now()); err != nil {
		return errors.Join(&function.Error{Status: http.StatusUnauthorized, Message: err.Error()}, err)
	}
	return nil
}

// refusal is the countable word for why a delivery was refused. A stale one with a valid signature is counted apart: if the
// sender should not refresh the time on its retries, this is where it shows [W2].
func refusal(err error) string {
	switch {
	case errors.Is(err, gemini.ErrStale):
		return "stale-timestamp"
	case errors.Is(err, gemini.ErrSignature):
		return "signature"
	default:
		return "no-secret"
	}
}

// take makes the verified body durable, in whichever way it can be.
func (h handler) take(r *http.Request, body []byte) (answer, ledger.Receipt, error) {
	id := r.Header.Get(gemini.HeaderID)
	event, err := gemini.DecodeEvent(id, body)
	var unknownType *gemini.UnknownTypeError
	switch {
	case errors.As(err, &unknownType):
		suspect := ledger.Suspect{ID: id, Reason: "unknown-type", Detail: err.Error(), Type: unknownType.Type, Body: body}
		return h.keep(r, suspect, ignored)
	case err != nil:
		return h.keep(r, ledger.Suspect{ID: id, Reason: "malformed", Detail: err.Error(), Body: body}, quarantined)
	}
	receipt, err := h.Ledger.Ingest(r.Context(), event)
	if ledger.Permanent(err) {
		suspect := ledger.Suspect{ID: id, Reason: "refused-by-store", Detail: err.Error(), Type: event.Type, Body: body}
		return h.keep(r, suspect, quarantined)
	}
	return answer{Outcome: receipt.Outcome, Reason: receipt.Reason, Registered: receipt.Registered}, receipt, err
}

// keep quarantines a body whole, for a person [W6].
func (h handler) keep(r *http.Request, s ledger.Suspect, outcome ledger.Outcome) (answer, ledger.Receipt, error) {
	kept, err := h.Ledger.Quarantine(r.Context(), s)
	if err == nil && !kept {
		outcome = ledger.Duplicate
	}
	return answer{Outcome: outcome, Reason: operation.Reason(s.Reason)}, ledger.Receipt{}, err
}
