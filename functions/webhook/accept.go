package webhook

import (
	"cmp"
	"net/http"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/trust"
)

// accept makes a delivery durable: it ingests the event, confirms it at Gemini, or quarantines it.
func (h handler) accept(r *http.Request, body []byte, proof trust.Proof) (ledger.Receipt, error) {
	id := r.Header.Get(gemini.HeaderID)
	decoded, err := httpfunc.AwaitTurn(r.Context(), body)
	if err != nil {
		return ledger.Receipt{}, err
	}
	event, err := gemini.DecodeEvent(id, body)
	decoded()
	if err != nil {
		return h.quarantineUndecoded(r, body, err, proof)
	}
	vouched := event.CorrelationID
	if !proof.Bound {
		vouched = gemini.CorrelationOf(proof.Claims) // only the claims are signed [K6]
		event.CorrelationID = cmp.Or(vouched, event.CorrelationID)
	}
	var receipt ledger.Receipt
	if h.Confirm.Unverified(proof) {
		receipt, err = h.Confirmer.Confirm(r.Context(), confirm.Hint{Event: event, Vouched: vouched, Token: proof.Token})
	}
	// A signed event that can never be confirmed is ingested: no look-up will ever report the
	// operation.
	if !h.Confirm.Unverified(proof) || proof.Bound && unconfirmable(receipt) {
		receipt, err = h.Ledger.Operations.Ingest(r.Context(), event)
	}
	if ledger.Permanent(err) {
		suspect := ledger.Suspect{Reason: string(refusedByStore), Detail: err.Error(), Type: event.Type}
		return h.quarantine(r, body, suspect, quarantined, proof)
	}
	return receipt, err
}

// unconfirmable reports whether no look-up of the operation is possible. That is no error.
func unconfirmable(receipt ledger.Receipt) bool {
	reason := string(receipt.Reason)
	return reason == lookup.Unsupported || reason == lookup.InvalidName
}
