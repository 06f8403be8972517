package trust

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
)

// GeminiKeys is where Gemini publishes the keys that sign tokens, according to the samples of its
// guide.
const GeminiKeys = "https://generativelanguage.googleapis.com/.well-known/jwks.json"

// TokensOptions say which tokens are accepted.
type TokensOptions struct {
	// Audiences: a token must name one of them. At least one is required, because a token that Gemini
	// made for another receiver would be accepted otherwise.
	Audiences []string
	// Issuers: a token must name one of them. None: any issuer whose key is in the set. Gemini
	// documents no issuer.
	Issuers []string
	// KeysURL is a JSON Web Key Set, by default GeminiKeys. It must be https, or http on the loopback
	// interface.
	KeysURL string
	// Transport fetches the set; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Caching is by default a time to live of an hour, a gap of a minute, and an hour past the time
	// to live.
	Caching
	// Log gets undocumented claims and failures to fetch keys. Nil: nothing is logged.
	Log *slog.Logger
}

// Tokens verify the tokens of dynamic webhooks. They are safe for concurrent use and print neither
// tokens nor keys.
type Tokens struct {
	audiences, issuers []string
	keys               *keyring
	strange            *undocumentedClaims
}

// The bounds on a token, so that a forgery costs little time and memory.
const (
	maxTokenBytes = 16 << 10
	maxKeyIDBytes = 256
)

// maxTokenAge is for how long after its iat a token without exp is accepted. Gemini redelivers for
// 24 hours.
const maxTokenAge = 25 * time.Hour

// algorithms has one element. The algorithm that a token names selects nothing.
var algorithms = []jose.SignatureAlgorithm{jose.RS256}

// NewTokens returns a verifier of tokens. It fetches nothing yet. The error joins all problems of
// the options.
func NewTokens(o TokensOptions) (*Tokens, error) {
	var p diag.Problems
	p.When(len(o.Audiences) == 0, "no audience is given")
	p.When(slices.Contains(o.Audiences, "") || slices.Contains(o.Issuers, ""), "an audience or issuer is empty")
	url := cmp.Or(o.KeysURL, GeminiKeys)
	p.Of("the URL of the keys", CheckKeysURL(url))
	if err := errors.Join(p...); err != nil {
		return nil, fmt.Errorf("making a verifier of webhook tokens: %w", err)
	}
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Tokens{
		audiences: slices.Clone(o.Audiences),
		issuers:   slices.Clone(o.Issuers),
		keys:      newKeyring(url, o.Transport, o.Caching, log),
		strange:   &undocumentedClaims{log: log, seen: map[string]bool{}},
	}, nil
}

// verify returns the claims of a token that fits and is valid at now. Nil Tokens have no audience.
func (t *Tokens) verify(ctx context.Context, token string, now time.Time, leeway time.Duration) ([]byte, error) {
	if t == nil {
		return nil, ErrNoAudience
	}
	if len(token) > maxTokenBytes || !canonical(token) {
		return nil, gemini.ErrSignature
	}
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, gemini.ErrSignature
	}
	// A token can also bring a key or say where one is (jwk, jku, x5c, x5u). Only its key id is ever
	// asked for.
	id := jws.Signatures[0].Protected.KeyID
	if id == "" || len(id) > maxKeyIDBytes {
		return nil, gemini.ErrSignature
	}
	key, err := t.keys.find(ctx, id, now)
	if err != nil {
		return nil, err
	}
	payload, err := jws.Verify(key)
	if err != nil {
		return nil, gemini.ErrSignature
	}
	if err := t.judge(payload, now, leeway); err != nil {
		return nil, err
	}
	return payload, nil
}

// canonical reports whether each part of a token is base64url without padding, line breaks and
// unused bits that are set. Otherwise several texts would be the same token.
func canonical(token string) bool {
	if strings.ContainsAny(token, "\r\n") { // which the decoder would skip
		return false
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return true
}

// judge decides over the claims of a token whose signature fits. None of its times is documented,
// but one must say when it ends to be believed: without exp, iat does, for as long as Gemini
// delivers.
func (t *Tokens) judge(payload []byte, now time.Time, leeway time.Duration) error {
	var claims jwt.Claims
	var names map[string]json.RawMessage
	// This package refuses an object with the same name twice, which another reader might understand
	// otherwise.
	if json.Unmarshal(payload, &claims) != nil || json.Unmarshal(payload, &names) != nil {
		return gemini.ErrSignature
	}
	if !slices.ContainsFunc(t.audiences, claims.Audience.Contains) {
		return gemini.ErrSignature
	}
	if len(t.issuers) > 0 && !slices.Contains(t.issuers, claims.Issuer) {
		return gemini.ErrSignature
	}
	t.strange.note(names)
	// Nothing but times is expected here, so nothing else can be wrong.
	if claims.ValidateWithLeeway(jwt.Expected{Time: now}, leeway) != nil {
		return ErrStale
	}
	switch {
	case claims.Expiry != nil:
		return nil
	case claims.IssuedAt == nil:
		return ErrUndated
	case now.Sub(claims.IssuedAt.Time()) > maxTokenAge:
		return ErrOldToken
	}
	return nil
}

// String counts the audiences and says nothing about tokens or keys, however t is printed.
func (t *Tokens) String() string { return fmt.Sprintf("trust.Tokens(%d audiences)", len(t.audiences)) }

// GoString is String, for %#v.
func (t *Tokens) GoString() string { return t.String() }
