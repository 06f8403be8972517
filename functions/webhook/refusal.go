package webhook

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/trust"
)

// withRemedy adds to err the setting that the operator can change, where one is the cause.
func withRemedy(err error) error {
	if errors.Is(err, trust.ErrNoAudience) {
		return fmt.Errorf("%w (OPLEDGER_WEBHOOK_AUDIENCE)", err)
	}
	return err
}

// The reasons of a 401, which are sent.
const (
	// ReasonSignature also replaces reasons that would show the state of the secrets or the settings.
	ReasonSignature = "signature"
	ReasonStale     = "stale-timestamp"
	ReasonOldToken  = "old-token"
)

// refusal returns the reason, which log-based metrics count, and the answer to a delivery that was
// not verified. The answer says nothing about the state of the secrets, which is only logged. A
// valid signature with an old time has a reason of its own: it shows whether Gemini refreshes the
// time of a redelivery [W2].
func refusal(err error) (reason string, answered *httpfunc.Error) {
	unfit := unauthorized(ReasonSignature, "the webhook's signature does not fit, or is missing")
	switch {
	case errors.As(err, &answered): // from reading the body
		return answered.Reason, answered
	case errors.Is(err, trust.ErrOldToken):
		return ReasonOldToken, unauthorized(ReasonOldToken, "the webhook's token is too old")
	case errors.Is(err, trust.ErrStale):
		return ReasonStale, unauthorized(ReasonStale, "the webhook's timestamp is outside the tolerance")
	case errors.Is(err, trust.ErrNoAudience):
		return "no-audience", unfit
	case errors.Is(err, trust.ErrUndated):
		return "undated-token", unfit
	case errors.Is(err, trust.ErrAmbiguous):
		return "ambiguous-id", unfit
	case errors.Is(err, gemini.ErrSignature):
		return ReasonSignature, unfit
	case errors.Is(err, gemini.ErrNoSecret):
		return "no-secret", httpfunc.Errorf(http.StatusServiceUnavailable,
			"there is no webhook secret yet; set OPLEDGER_WEBHOOK_SECRET")
	default:
		return "unavailable", httpfunc.Errorf(http.StatusServiceUnavailable,
			"the secrets or keys to verify with cannot be read now")
	}
}

func unauthorized(reason, message string) *httpfunc.Error {
	return httpfunc.Reasonf(http.StatusUnauthorized, reason, "%s", message)
}
