package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

// GoogleKeys is where Google publishes the keys that sign identity tokens.
const GoogleKeys = "https://www.googleapis.com/oauth2/v3/certs"

// pushLeeway is how far Google's clock and the local one may differ.
const pushLeeway = time.Minute

// ErrPush says that a request has no identity token of the push subscription.
var ErrPush = errors.New("it is not Google's token for this subscription")

// PushOptions describe the identity tokens of a Pub/Sub push subscription.
type PushOptions struct {
	// Audience is the one in the subscription's settings, Account its service account. Both are
	// required: a user of any Google Cloud project can get a token for any audience, but only for
	// service accounts of that project.
	Audience, Account string
	// KeysURL is a JSON Web Key Set, by default GoogleKeys. It must be https, or http on the loopback
	// interface.
	KeysURL string
	// Transport fetches the set; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// A Push verifies the identity token of a Pub/Sub push request. It is safe for concurrent use.
// Forged tokens are bounded as for [Tokens].
type Push struct {
	tokens  *Tokens
	account string
}

// NewPush returns a verifier of push tokens. It fetches nothing yet. The error joins all problems
// of the options.
func NewPush(o PushOptions) (*Push, error) {
	tokens, err := NewTokens(TokensOptions{
		Audiences: []string{o.Audience},
		Issuers:   []string{"https://accounts.google.com", "accounts.google.com"}, // Google writes either
		KeysURL:   cmp.Or(o.KeysURL, GoogleKeys), Transport: o.Transport,
	})
	if o.Account == "" {
		err = errors.Join(err, errors.New("no service account is given"))
	}
	if err != nil {
		return nil, fmt.Errorf("making a verifier of push tokens: %w", err)
	}
	return &Push{tokens: tokens, account: o.Account}, nil
}

// Verify returns nil for a token that Google made, that is valid at now, and that names the
// audience and the account. The error is ErrPush, or wraps ErrUnavailable where Google's keys
// cannot be fetched: answer that with 503, so that the message is redelivered.
func (p *Push) Verify(ctx context.Context, token string, now time.Time) error {
	payload, err := p.tokens.verify(ctx, token, now, pushLeeway)
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	if err != nil {
		return ErrPush
	}
	var claims struct {
		Expiry   *jwt.NumericDate `json:"exp"`
		Email    string           `json:"email"`
		Verified bool             `json:"email_verified"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expiry == nil || !claims.Verified || claims.Email != p.account {
		return ErrPush
	}
	return nil
}
