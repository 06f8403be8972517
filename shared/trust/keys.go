package trust

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
)

const (
	// maxKeySetBytes bounds the answer of the server that publishes the keys.
	maxKeySetBytes = 1 << 20
	// minKeyBits is what RFC 7518, section 3.3, requires of a key for RS256.
	minKeyBits = 2048
)

// keySet holds public keys by their ids. It is never empty.
type keySet map[string]*rsa.PublicKey

// A keyring finds the key with an id in a published set.
type keyring struct {
	cache   *cache[keySet]
	unknown *unknownIDs
}

func newKeyring(address string, transport http.RoundTripper, c Caching, log *slog.Logger) *keyring {
	redactor := &diag.Redactor{}
	if u, err := url.Parse(address); err == nil {
		redactor.AddURL(&url.URL{RawQuery: u.RawQuery}) // net/http quotes the URL
	}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &keyring{
		cache: &cache[keySet]{
			fetch: func(ctx context.Context) (*keySet, error) {
				set, err := fetchKeys(ctx, client, address)
				if err != nil {
					return nil, fmt.Errorf("fetching the keys of tokens: %w", redactor.Error(err))
				}
				return &set, nil
			},
			report: func(err error) {
				if err == nil {
					log.Info("webhook keys can be fetched again", "event", "auth", "outcome", "renewed")
					return
				}
				log.Error("webhook keys cannot be fetched; those that are known stay in use", "event", "auth",
					"outcome", "stale-keys", "error", err)
			},
			Caching: c.or(Caching{TTL: time.Hour, Gap: time.Minute, MaxStale: time.Hour}),
		},
		unknown: &unknownIDs{until: map[string]time.Time{}},
	}
}

// find returns the key with an id. If there is none the set is fetched once more, because the key
// may be new. The error is gemini.ErrSignature for an id that is not in the set, or wraps
// ErrUnavailable.
func (k *keyring) find(ctx context.Context, id string, now time.Time) (*rsa.PublicKey, error) {
	set, err := k.cache.get(ctx, now)
	if err != nil {
		return nil, err
	}
	if key, ok := (*set)[id]; ok {
		return key, nil
	}
	if k.unknown.has(id, now) {
		return nil, gemini.ErrSignature
	}
	newer := k.cache.renew(ctx, now, set)
	if key, ok := (*newer)[id]; ok {
		return key, nil
	}
	if newer != set { // otherwise nothing was fetched
		k.unknown.add(id, now)
	}
	return nil, gemini.ErrSignature
}

// CheckKeysURL returns nil for a URL of keys whose answer cannot be replaced on the way. The error
// does not repeat it: it may hold a password.
func CheckKeysURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return errors.New("it must be an https URL with a host, and without a user")
	}
	if !api.SecureURL(u) {
		return errors.New("it must be an https URL: plain http is for the loopback interface only")
	}
	return nil
}

// fetchKeys reads a key set.
func fetchKeys(ctx context.Context, client *http.Client, url string) (keySet, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // it names the URL
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", request.URL.Redacted(), response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeySetBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", request.URL.Redacted(), err)
	}
	if len(text) > maxKeySetBytes {
		return nil, fmt.Errorf("%s answered more than %d bytes", request.URL.Redacted(), maxKeySetBytes)
	}
	set, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", request.URL.Redacted(), err)
	}
	return set, nil
}

// parseKeys returns the keys of a set that RS256 tokens can be verified with. Others are passed
// over, as RFC 7517 wants it: a set may hold keys for other purposes. Two keys with one id make the
// set unusable: it is not known which of them is meant.
func parseKeys(text []byte) (keySet, error) {
	var published struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(text, &published) != nil {
		return nil, errors.New("the answer is not a JSON Web Key Set")
	}
	set := keySet{}
	for _, raw := range published.Keys {
		var jwk jose.JSONWebKey
		if json.Unmarshal(raw, &jwk) != nil {
			continue
		}
		key, ok := usableKey(jwk)
		if !ok {
			continue
		}
		if _, twice := set[jwk.KeyID]; twice {
			return nil, errors.New("the key set has two keys with one id")
		}
		set[jwk.KeyID] = key
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("none of the %d keys in the set is an RSA key of at least %d bits for RS256 signatures",
			len(published.Keys), minKeyBits)
	}
	return set, nil
}

func usableKey(jwk jose.JSONWebKey) (*rsa.PublicKey, bool) {
	key, ok := jwk.Key.(*rsa.PublicKey)
	ok = ok && key.N.BitLen() >= minKeyBits && jwk.KeyID != "" &&
		(jwk.Use == "" || jwk.Use == "sig") && (jwk.Algorithm == "" || jwk.Algorithm == string(jose.RS256))
	return key, ok
}
