// Package webhook is the function that Gemini delivers to: public, over HTTP. It verifies the signature on the raw body,
// decodes the event, and hands it to the ledger; a delivery whose body is not signed is only a hint, and Gemini is asked
// instead. It answers 200 only when what it decided is durable [W3].
//
//	outcome               answer
//	signature or time off 401, nothing written [W1, W2]
//	not POST, too large   405, 413, nothing written [W7]
//	too slow, no room     408, 503, nothing written [W7]
//	taken in              200 applied, dropped, duplicate or conflict [M8, W4]
//	cannot be understood  200 quarantined [W6]
//	unknown event type    200 ignored, kept like the above [W6]
//	a hint about nothing  200 ignored, nothing written
//	Gemini cannot confirm 503 with Retry-After: the sender delivers again
//	no secret, no key     503, the same
//	store cannot take it  503, the same, within a time of its own [W3]
package webhook

import (
	"cmp"
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
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// Options are what the function works with.
type Options struct {
	Ledger *ledger.Ledger
	Gate   *trust.Gate
	// Confirm says which deliveries are only hints. Confirmer asks about them, and may be nil where none are.
	Confirm   trust.Policy
	Confirmer *confirm.Confirmer
	// Timeout is within what time a delivery is answered, whatever the store does; 0:
	// DefaultTimeout.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// DefaultTimeout leaves Gemini, which waits for some seconds, an answer of ours.
const DefaultTimeout = 10 * time.Second

// New returns the function.
func New(o Options) http.Handler {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return httpfunc.OnlyPOST(handler(o))
}

type handler Options

// quarantined is an outcome beside those of ledger.Ingest.
const quarantined ledger.Outcome = "quarantined"

// answer is what a delivery that was taken is answered.
type answer struct {
	Outcome    ledger.Outcome   `json:"outcome"`
	Reason     operation.Reason `json:"reason"`
	Registered bool             `json:"registered"`
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Now()
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	// Anybody may send this header, before anything is verified.
	log := h.Log.With("delivery", fmt.Sprintf("%.200s", r.Header.Get(gemini.HeaderID)), "source", operation.Webhook)
	// A body is read once its headers have not ruled the delivery out: strangers must not fill the
	// memory.
	read := sync.OnceValues(func() ([]byte, error) { return httpfunc.ReadBody(w, r) })
	proof, err := h.Gate.Verify(ctx, r.Header, read, h.Now())
	var body []byte
	if err == nil {
		body, err = read()
	}
	if err != nil {
		reason, answered := refusal(err)
		log.WarnContext(ctx, "delivery refused", "event", "auth", "outcome", "refused", "reason", reason, "error", err)
		httpfunc.WriteError(w, answered)
		return
	}
	receipt, err := h.accept(r, body, proof)
	if err != nil {
		h.again(w, r, log, receipt, err)
		return
	}
	event, level := "ingest", slog.LevelInfo
	if receipt.Key == "" && proof.Bound {
		event = "quarantine" // also where it was a duplicate of one that is there
	}
	if receipt.Outcome == quarantined {
		level = slog.LevelWarn // it may be a completion: a person should look
	}
	log.Log(ctx, level, "delivery taken in", "event", event, "operation", receipt.Key, "outcome", receipt.Outcome,
		"reason", receipt.Reason, "registered", receipt.Registered, "state", receipt.State, "effects", receipt.Planned,
		"correlated", receipt.Correlated, "disputed", receipt.Disputed, "bound", proof.Bound, "duration_ms",
		h.Now().Sub(began).Milliseconds())
	if receipt.Withheld > 0 {
		log.WarnContext(ctx, ledger.WithheldMessage, "event", "effect", "outcome", "withheld",
			"operation", receipt.Key, "effects", receipt.Withheld)
	}
	if receipt.PublishErr != nil {
		log.WarnContext(ctx, "effects wait for the sweep", "event", "effect", "outcome", "unpublished",
			"operation", receipt.Key, "error", receipt.PublishErr)
	}
	httpfunc.WriteJSON(w, http.StatusOK, answer{Outcome: receipt.Outcome, Reason: receipt.Reason,
		Registered: receipt.Registered})
}

// again answers a delivery that could not be taken in, so that the sender brings it once more.
func (h handler) again(w http.ResponseWriter, r *http.Request, log *slog.Logger, receipt ledger.Receipt, err error) {
	level, outcome, reason, answered := slog.LevelError, "error", "", err
	var unconfirmed *confirm.UnconfirmedError
	if errors.As(err, &unconfirmed) {
		level, outcome, reason = slog.LevelWarn, "unconfirmed", unconfirmed.Reason
		answered = &httpfunc.Error{
			Status: http.StatusServiceUnavailable, Message: unconfirmed.Error(), RetryAfter: unconfirmed.RetryAfter,
		}
	} else if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		reason = "timeout"
		late := fmt.Sprintf("the delivery was not taken in within %s", h.Timeout)
		answered = &httpfunc.Error{Status: http.StatusServiceUnavailable, Message: late}
		err = fmt.Errorf("%s (OPLEDGER_WEBHOOK_TIMEOUT): %w", late, err)
	}
	log.Log(r.Context(), level, "delivery not taken in; the sender will deliver it again", "event", "ingest",
		"outcome", outcome, "operation", receipt.Key, "reason", reason, "error", err)
	httpfunc.WriteError(w, answered)
}
