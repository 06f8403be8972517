// Package webhook is the public HTTP function that Gemini delivers events to. It verifies a
// delivery on the raw body, decodes the event and ingests it into the ledger. A delivery whose
// proof does not cover its body is unverified: the operation's state is then asked of Gemini. The
// answer is 200 only when the decision is durable [W3].
//
//	delivery                     answer
//	signature or time is wrong   401, nothing written [W1, W2]
//	not POST, too large          405, 413, nothing written [W7]
//	too slow, no room            408, 503, nothing written [W7]
//	ingested                     200 applied, dropped, duplicate or conflict [M8, W4]
//	not decodable                200 quarantined [W6]
//	unknown event type           200 ignored, kept in quarantine [W6]
//	unverified, nothing known    200 ignored, nothing written
//	unverified, not confirmed    503 with Retry-After: Gemini redelivers it
//	no secret, no API key        503, the same
//	the store does not commit    503, the same, within Options.Timeout [W3]
//	a newer revision wrote it    503, the same [L6]
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

// Options are what the function works with. Ledger, Gate, Now and Log are required.
type Options struct {
	Ledger *ledger.Ledger
	Gate   *trust.Gate
	// Confirm says which deliveries are unverified. Confirmer confirms them at Gemini; it may be nil
	// where there are none.
	Confirm   trust.Policy
	Confirmer *confirm.Confirmer
	// Count, if not nil, is told of each delivery that was refused why, and "" of each that was accepted,
	// of a canary's neither: it must not block.
	Count func(refused string)
	// Timeout is within what time a delivery is answered, whatever the store does; 0: DefaultTimeout.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// DefaultTimeout is shorter than Gemini waits for an answer.
const DefaultTimeout = 10 * time.Second

// New returns the function.
func New(o Options) http.Handler {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Count == nil {
		o.Count = func(string) {}
	}
	return httpfunc.OnlyPOST(handler(o))
}

type handler Options

// quarantined is an outcome beside those of ledger.Ingest.
const quarantined ledger.Outcome = "quarantined"

// answer is the body of a 200.
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
	// The id is cut because it is logged before anything is verified.
	log := h.Log.With("delivery", fmt.Sprintf("%.200s", r.Header.Get(gemini.HeaderID)), "source", operation.Webhook)
	// The gate reads the body only if the headers do not rule the delivery out, so that unverified
	// senders cannot fill the memory.
	read := sync.OnceValues(func() ([]byte, error) { return httpfunc.ReadBody(w, r) })
	proof, err := h.Gate.Verify(ctx, r.Header, read, h.Now())
	var body []byte
	if err == nil {
		body, err = read()
	}
	if err != nil {
		reason, answered := refusal(err)
		log.WarnContext(ctx, "delivery refused", "event", "auth", "outcome", "refused", "reason", reason,
			"error", withRemedy(err))
		h.Count(reason)
		httpfunc.WriteError(w, answered)
		return
	}
	receipt, err := h.accept(r, body, proof)
	if err != nil {
		h.fail(w, r, log, receipt, err)
		return
	}
	logAccepted(ctx, log, receipt, proof, h.Now().Sub(began))
	if !receipt.Key.IsCanary() {
		h.Count("")
	}
	httpfunc.WriteJSON(w, http.StatusOK, answer{
		Outcome: receipt.Outcome, Reason: receipt.Reason, Registered: receipt.Registered,
	})
}

// logAccepted logs what became of a delivery that is answered 200.
func logAccepted(ctx context.Context, log *slog.Logger, receipt ledger.Receipt, proof trust.Proof,
	took time.Duration) {
	event, level := "ingest", slog.LevelInfo
	if receipt.Key == "" && proof.Bound {
		event = "quarantine" // also for a duplicate of what is in quarantine
	}
	if receipt.Outcome == quarantined {
		level = slog.LevelWarn // it may be a completion, which the operator should check
	}
	if !receipt.Registered && receipt.Key.IsCanary() {
		event = "canary" // no signal counts it: it says nothing about what Gemini delivers
	}
	log.Log(ctx, level, "delivery accepted", "event", event, "operation", receipt.Key, "outcome", receipt.Outcome,
		"reason", receipt.Reason, "registered", receipt.Registered, "state", receipt.State, "effects", receipt.Planned,
		"announced", receipt.Settled && receipt.Registered, "correlated", receipt.Correlated,
		"disputed", receipt.Disputed, "bound", proof.Bound,
		"duration_ms", took.Milliseconds())
	if receipt.Withheld > 0 {
		log.WarnContext(ctx, ledger.WithheldMessage, "event", "effect", "outcome", "withheld",
			"operation", receipt.Key, "effects", receipt.Withheld)
	}
	if receipt.PublishErr != nil {
		log.WarnContext(ctx, "effects wait for the sweep", "event", "effect", "outcome", "unpublished",
			"operation", receipt.Key, "error", receipt.PublishErr)
	}
}

// fail logs and answers a delivery that was not accepted, so that Gemini redelivers it.
func (h handler) fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, receipt ledger.Receipt, err error) {
	level, outcome, reason, answered := slog.LevelError, httpfunc.OutcomeOf(err), "", err
	var unconfirmed *confirm.UnconfirmedError
	if errors.As(err, &unconfirmed) {
		level, outcome, reason = slog.LevelWarn, "unconfirmed", unconfirmed.Reason
		answered = &httpfunc.Error{
			Status: http.StatusServiceUnavailable, Message: unconfirmed.Error(), RetryAfter: unconfirmed.RetryAfter,
		}
	} else if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		reason = "timeout"
		late := fmt.Sprintf("the delivery was not accepted within %s", h.Timeout)
		answered = &httpfunc.Error{Status: http.StatusServiceUnavailable, Message: late}
		err = fmt.Errorf("%s (OPLEDGER_WEBHOOK_TIMEOUT): %w", late, err)
	}
	log.Log(r.Context(), level, "delivery not accepted; Gemini redelivers it", "event", "ingest",
		"outcome", outcome, "operation", receipt.Key, "reason", reason, "error", err)
	httpfunc.WriteError(w, answered)
}
