package webhook

import (
	"errors"
	"net/http"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini"
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

// quarantineUndecoded keeps a body that is not an event of a known type [W6]. err is DecodeEvent's.
func (h handler) quarantineUndecoded(r *http.Request, body []byte, err error, proof trust.Proof) (ledger.Receipt,
	error) {
	suspect, outcome := ledger.Suspect{Reason: string(malformed), Detail: err.Error()}, quarantined
	if unknown, ok := errors.AsType[*gemini.UnknownTypeError](err); ok {
		suspect.Reason, suspect.Type, outcome = string(unknownType), unknown.Type, confirm.Ignored
	}
	return h.quarantine(r, body, suspect, outcome, proof)
}

// quarantine keeps a whole body for the operator, with the headers that the ledger keeps, which do
// not include the signature. An unsigned body is not kept: a holder of one token could fill the
// quarantine.
func (h handler) quarantine(
	r *http.Request, body []byte, s ledger.Suspect, outcome ledger.Outcome, proof trust.Proof,
) (ledger.Receipt, error) {
	if !proof.Bound {
		return ledger.Receipt{Outcome: confirm.Ignored, Reason: operation.Reason(s.Reason)}, nil
	}
	s.ID, s.Body, s.Headers = r.Header.Get(gemini.HeaderID), body, map[string]string{}
	for name := range r.Header {
		s.Headers[name] = r.Header.Get(name)
	}
	kept, err := h.Ledger.Quarantine.Add(r.Context(), s)
	if !kept { // with an error no outcome counts
		outcome = ledger.Duplicate
	}
	return ledger.Receipt{Outcome: outcome, Reason: operation.Reason(s.Reason)}, err
}
