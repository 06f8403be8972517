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

// GoogleKeys is where Google publishes the keys that it signs identity tokens with.
const GoogleKeys = "https://www.googleapis.com/oauth2/v3/certs"

// pushLeeway is how far Google's clock and this one may differ.
const pushLeeway = time.Minute

// ErrPush says that a request did not bring the identity token of the push subscription.
var ErrPush = errors.New("it is not Google's token for this subscription")

// PushOptions say which identity tokens a Pub/Sub push subscription sends.
type PushOptions struct {
	// Audience is the one in the subscription's settings, Account its service account. Both are
	// required: anyone with a Google Cloud project may have a token made for any audience, but only
	// for accounts of their own.
	Audience, Account string
	// KeysURL is a JSON Web Key Set, by default GoogleKeys. It must be https, or http on the loopback
	// interface.
	KeysURL string
	// Transport fetches the set; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// A Push verifies the identity token that Google puts into what a Pub/Sub subscription pushes. It is
// safe for concurrent use, and what a forger can cost is bounded as for [Tokens].
type Push struct {
	tokens  *Tokens
	account string
}

// NewPush returns a verifier of push tokens. It fetches nothing yet. The error says what is wrong with
// the options, all of it.
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

// Verify returns nil for a token that Google made, that is valid at now, and that names the audience
// and the account. The error wraps ErrPush, or ErrUnavailable where Google's keys cannot be fetched:
// then the push should be answered 503, and is redelivered.
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
