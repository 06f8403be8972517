package trust_test

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha3"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/trust"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secretA = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 0123456789abcdef twice
	secretB = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
	body    = `{"type":"batch.succeeded","version":"v1","timestamp":"2026-01-22T12:00:00Z",` +
		`"data":{"id":"batches/abc123"}}`
	tolerance = 5 * time.Minute
	audience  = "https://receiver.example/webhook"
	keyID     = "key-1"
)

var start = time.Unix(1700000000, 0)

// Searching a key's primes takes long, so each is written as the distance from the number that its
// text stands for.
var (
	publishedKey = key(2048, prime{"published p", 1944}, prime{"published q", 570})
	forgersKey   = key(2048, prime{"forger's p", 627}, prime{"forger's q", 198})
	smallKey     = key(1024, prime{"small p", 371}, prime{"small q", 41})
)

type prime struct {
	text   string
	behind int64 // that number
}

func key(bits int, primes ...prime) func() *rsa.PrivateKey {
	return sync.OnceValue(func() *rsa.PrivateKey { return newKey(bits, primes) })
}

func newKey(bits int, primes []prime) *rsa.PrivateKey {
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: big.NewInt(1), E: 65537}}
	one, totient := big.NewInt(1), big.NewInt(1)
	for _, p := range primes {
		digits := sha3.SumSHAKE256([]byte(p.text), bits/8/len(primes))
		digits[0] |= 0b1100_0000 // so that the product has all bits
		found := new(big.Int).SetBytes(digits)
		found.Add(found, big.NewInt(p.behind))
		key.Primes = append(key.Primes, found)
		key.N.Mul(key.N, found)
		totient.Mul(totient, new(big.Int).Sub(found, one))
	}
	key.D = new(big.Int).ModInverse(big.NewInt(int64(key.E)), totient)
	key.Precompute()
	if err := key.Validate(); err != nil || key.N.BitLen() != bits {
		panic(fmt.Sprintf("%v is no key of %d bits: %v", primes, bits, err))
	}
	return key
}

// A world is a gate with its two sources, which can change and fail, and are counted.
type world struct {
	testing.TB
	gate    *trust.Gate
	log     *harness.Log
	secrets *source[[]trust.Secret]
	keys    *source[string]
}

// A source returns its latest value or error, and counts its calls.
type source[T any] struct {
	asked atomic.Int64
	mu    sync.Mutex
	value T
	err   error
}

func (s *source[T]) set(value T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.err = value, err
}

func (s *source[T]) get(context.Context) (T, error) {
	s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.err
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// keysTransport answers every request with the world's keys.
func keysTransport(w *world) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		text, err := w.keys.get(r.Context())
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	})
}

// newWorld returns a world with secret A and the published key.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, log: &harness.Log{}, secrets: &source[[]trust.Secret]{}, keys: &source[string]{}}
	w.secrets.set(versions(secretA), nil)
	w.keys.set(keySet(jwk(&publishedKey().PublicKey, keyID)), nil)
	log := slog.New(slog.NewJSONHandler(w.log, nil))
	tokens, err := trust.NewTokens(trust.TokensOptions{
		Audiences: []string{"elsewhere", audience}, Log: log,
		Transport: keysTransport(w),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.gate = newGate(t, trust.NewSecrets(w.secrets.get, trust.SecretsOptions{Log: log}), tokens)
	return w
}

func newGate(t testing.TB, secrets *trust.Secrets, tokens *trust.Tokens) *trust.Gate {
	t.Helper()
	gate, err := trust.New(trust.Options{Tolerance: tolerance, Static: secrets, Dynamic: tokens})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

func (w *world) verify(h http.Header, now time.Time) error {
	_, err := w.gate.Verify(w.Context(), h, whole([]byte(body)), now)
	return err
}

// whole returns a body that was read.
func whole(body []byte) trust.Body { return func() ([]byte, error) { return body, nil } }

// versions are secrets with the names of versions 1, 2 ….
func versions(values ...string) []trust.Secret {
	var all []trust.Secret
	for i, value := range values {
		all = append(all, trust.Secret{Name: fmt.Sprintf("projects/p/secrets/s/versions/%d", i+1), Value: value})
	}
	return all
}

func headers(now time.Time, signatures ...string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", "msg_1")
	h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	for _, s := range signatures {
		h.Add("webhook-signature", s)
	}
	return h
}

// sign makes a static signature from the specification.
func sign(secret string, now time.Time) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "msg_1.%d.%s", now.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// rs256 signs any header and payload without the library that verifies.
func rs256(key *rsa.PrivateKey, header, payload string) string {
	signed := encode(header) + "." + encode(payload)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + encode(string(signature))
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

const goodHeader = `{"alg":"RS256","kid":"key-1","typ":"JWT"}`

// goodClaims is a payload that is valid at now, with changes. A nil value removes a claim.
func goodClaims(now time.Time, changes map[string]any) string {
	all := map[string]any{"aud": audience, "iss": "https://accounts.google.com", "iat": now.Unix(),
		"exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func goodToken(now time.Time) string { return rs256(publishedKey(), goodHeader, goodClaims(now, nil)) }

// jwk is a published public key, with changes in pairs of name and value.
func jwk(key any, id string, changes ...string) string {
	text, err := json.Marshal(jose.JSONWebKey{Key: key, KeyID: id, Algorithm: "RS256", Use: "sig"})
	if err != nil {
		panic(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		panic(err)
	}
	for i := 0; i < len(changes); i += 2 {
		fields[changes[i]] = changes[i+1]
	}
	if text, err = json.Marshal(fields); err != nil {
		panic(err)
	}
	return string(text)
}

func keySet(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// outcome reports whether one line was logged, with that outcome, or none if it is nil.
func outcome(lines []map[string]any, want any) bool {
	if want == nil {
		return len(lines) == 0
	}
	return len(lines) == 1 && lines[0]["outcome"] == want
}

// silent fails if any of the texts was printed or logged.
func silent(t testing.TB, printed string, secret ...string) {
	t.Helper()
	for _, s := range secret {
		if strings.Contains(printed, s) {
			t.Errorf("it prints what it must not: %q in %q", s, printed)
		}
	}
}
