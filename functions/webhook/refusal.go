package webhook

import (
	"errors"
	"net/http"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/trust"
)

// refusal is the countable word for why a delivery was not verified, and what its sender is answered: nothing of what is wrong
// with the secrets, which is for the log. A stale one with a valid signature is counted apart: if the sender should not refresh
// the time on its retries, this is where it shows [W2].
func refusal(err error) (reason string, answered *httpfunc.Error) {
	const unfit = "the webhook's signature does not fit, or is missing"
	switch {
	case errors.As(err, &answered): // of its body
		return answered.Reason, answered
	case errors.Is(err, trust.ErrOldToken):
		return "old-token", &httpfunc.Error{Status: http.StatusUnauthorized, Message: "the webhook's token is too old"}
	case errors.Is(err, trust.ErrStale):
		return "stale-timestamp", &httpfunc.Error{Status: http.StatusUnauthorized,
			Message: "the webhook's timestamp is outside the tolerance"}
	// a job has a webhook of its own and the settings do not say whose tokens to believe
	case errors.Is(err, trust.ErrNoAudience):
		return "no-audience", &httpfunc.Error{Status: http.StatusUnauthorized, Message: unfit}
	case errors.Is(err, trust.ErrUndated):
		return "undated-token", &httpfunc.Error{Status: http.StatusUnauthorized, Message: unfit}
	case errors.Is(err, trust.ErrAmbiguous): // a genuine sender's id, or a captured delivery that was divided
		return "ambiguous-id", &httpfunc.Error{Status: http.StatusUnauthorized, Message: unfit}
	case errors.Is(err, gemini.ErrSignature):
		return "signature", &httpfunc.Error{Status: http.StatusUnauthorized, Message: unfit}
	case errors.Is(err, gemini.ErrNoSecret):
		return "no-secret", &httpfunc.Error{
			Status: http.StatusServiceUnavailable, Message: "there is no webhook secret yet; set OPLEDGER_WEBHOOK_SECRET",
		}
	default:
		return "unavailable", &httpfunc.Error{
			Status: http.StatusServiceUnavailable, Message: "what deliveries are verified with cannot be read now",
		}
	}
}
