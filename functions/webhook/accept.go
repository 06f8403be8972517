package webhook

import (
	"cmp"
	"net/http"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// The reasons why a delivery is kept in quarantine instead of being ingested.
const (
	unknownType    operation.Reason = "unknown-type"
	malformed      operation.Reason = "malformed"
	refusedByStore operation.Reason = "refused-by-store"
)

// accept makes what the delivery says durable, in whichever way it can be.
func (h handler) accept(r *http.Request, body []byte, proof trust.Proof) (ledger.Receipt, error) {
	id := r.Header.Get(gemini.HeaderID)
	event, err := gemini.DecodeEvent(id, body)
	if err != nil {
		return h.unreadable(r, body, err, proof)
	}
	vouched := event.CorrelationID
	if !proof.Bound {
		vouched = gemini.CorrelationOf(proof.Claims) // the event may have it there alone [K6]
		event.CorrelationID = cmp.Or(vouched, event.CorrelationID)
	}
	var receipt ledger.Receipt
	if h.Confirm.Unverified(proof) {
		receipt, err = h.Confirmer.Confirm(r.Context(), confirm.Hint{Event: event, Vouched: vouched, Token: proof.Token})
	}
	// What is signed and can never be confirmed is believed: nothing else tells of such an operation.
	if !h.Confirm.Unverified(proof) || proof.Bound && err == nil && unconfirmable(receipt) {
		receipt, err = h.Ledger.Ingest(r.Context(), event)
	}
	if ledger.Permanent(err) {
		return h.keep(r, body, ledger.Suspect{Reason: string(refusedByStore), Detail: err.Error(), Type: event.Type},
			quarantined, proof)
	}
	return receipt, err
}

// unconfirmable reports whether Gemini cannot be asked about the operation at all.
func unconfirmable(receipt ledger.Receipt) bool {
	reason := string(receipt.Reason)
	return receipt.Outcome == confirm.Ignored && (reason == lookup.Unsupported || reason == lookup.InvalidName)
}
