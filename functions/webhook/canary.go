package webhook

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// madeUp reports whether a delivery is about an operation that a canary made up.
func madeUp(receipt ledger.Receipt) bool { return !receipt.Registered && receipt.Key.IsCanary() }

// describe logs the form of a delivery about a batch that a canary submitted: key paths, names of
// claims and headers, and no value of them. Gemini documents little of it.
//
// The error refuses the delivery that settles the batch, although it is ingested: how Gemini
// redelivers is not documented either. No other delivery is refused, whatever its id is.
func (h handler) describe(r *http.Request, log *slog.Logger, receipt ledger.Receipt, body []byte,
	proof trust.Proof,
) error {
	if !receipt.Registered || !strings.HasPrefix(receipt.CorrelationID, operation.CanaryPrefix) {
		return nil
	}
	form := ""
	if event, err := gemini.DecodeEvent("", body); err == nil {
		form = gemini.IDForm(event.Resource)
	}
	signature := "v1"
	if !proof.Bound {
		signature = "token"
	}
	age := int64(0)
	if seconds, err := strconv.ParseInt(r.Header.Get(gemini.HeaderTimestamp), 10, 64); err == nil {
		age = int64(h.Now().Sub(time.Unix(seconds, 0)).Seconds())
	}
	log.InfoContext(r.Context(), "the form of a canary's delivery", "event", "canary", "outcome", "described",
		"operation", receipt.Key, "repeated", receipt.Outcome == ledger.Duplicate, "refused", receipt.Settled,
		"id_form", form, "signature", signature,
		"paths", gemini.KeyPaths(body), "claims", gemini.KeyPaths(proof.Claims),
		"headers", slices.Sorted(maps.Keys(r.Header)), "timestamp_age_s", age)
	if !receipt.Settled {
		return nil
	}
	return &httpfunc.Error{
		Status: http.StatusServiceUnavailable, Message: "ingested; refused once, so that it is redelivered to a canary",
		RetryAfter: time.Second,
	}
}
