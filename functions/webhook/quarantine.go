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

// unreadable handles a body that no event can be made of [W6].
func (h handler) unreadable(r *http.Request, body []byte, err error, proof trust.Proof) (ledger.Receipt, error) {
	suspect, outcome := ledger.Suspect{Reason: string(malformed), Detail: err.Error()}, quarantined
	if unknown := new(gemini.UnknownTypeError); errors.As(err, &unknown) {
		suspect.Reason, suspect.Type, outcome = string(unknownType), unknown.Type, confirm.Ignored
	}
	return h.keep(r, body, suspect, outcome, proof)
}

// keep quarantines a body whole, for a person, with those of its headers that the ledger keeps: never the signature.
// A body that is not signed is kept nowhere: who has seen one token could fill the quarantine.
func (h handler) keep(
	r *http.Request, body []byte, s ledger.Suspect, outcome ledger.Outcome, proof trust.Proof,
) (ledger.Receipt, error) {
	if !proof.Bound {
		return ledger.Receipt{Outcome: confirm.Ignored, Reason: operation.Reason(s.Reason)}, nil
	}
	s.ID, s.Body, s.Headers = r.Header.Get(gemini.HeaderID), body, map[string]string{}
	for name := range r.Header {
		s.Headers[name] = r.Header.Get(name)
	}
	kept, err := h.Ledger.Quarantine(r.Context(), s)
	if err == nil && !kept {
		outcome = ledger.Duplicate
	}
	return ledger.Receipt{Outcome: outcome, Reason: operation.Reason(s.Reason)}, err
}
