package webhook

import (
	"context"
	"errors"
	"net/http"

	"github.com/opledger/opledger/shared/function"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/trust"
)

// verify says how far a delivery may be believed. The error is one that Fail answers.
func (h handler) verify(ctx context.Context, header http.Header, body []byte) (trust.Proof, error) {
	proof, err := h.Gate.Verify(ctx, header, body, h.Now())
	switch {
	case err == nil:
		return proof, nil
	case errors.Is(err, gemini.ErrStale):
		return proof, refused(http.StatusUnauthorized, "the webhook's timestamp is outside the tolerance", err)
	case errors.Is(err, gemini.ErrSignature):
		return proof, refused(http.StatusUnauthorized, "the webhook's signature does not fit, or is missing", err)
	case errors.Is(err, gemini.ErrNoSecret):
		return proof, refused(http.StatusServiceUnavailable, "there is no webhook secret yet; set OPLEDGER_WEBHOOK_SECRET", err)
	default:
		return proof, refused(http.StatusServiceUnavailable, "what deliveries are verified with cannot be read now", err)
	}
}

// refused is an error that is answered in these words only: what is wrong with the secrets is for the log.
func refused(status int, message string, err error) error {
	return errors.Join(&function.Error{Status: status, Message: message}, err)
}

// refusal is the countable word for why a delivery was refused. A stale one with a valid signature is counted apart: if the
// sender should not refresh the time on its retries, this is where it shows [W2].
func refusal(err error) string {
	switch {
	case errors.Is(err, gemini.ErrStale):
		return "stale-timestamp"
	case errors.Is(err, trust.ErrNoAudience):
		return "no-audience" // a job has a webhook of its own and the settings do not say whose tokens to believe
	case errors.Is(err, gemini.ErrSignature):
		return "signature"
	case errors.Is(err, gemini.ErrNoSecret):
		return "no-secret"
	default:
		return "unavailable"
	}
}
