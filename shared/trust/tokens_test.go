package trust_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/trust"
)

// hs256 signs with any bytes as a key.
func hs256(key []byte, header, payload string) string {
	signed := encode(header) + "." + encode(payload)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(signed))
	return signed + "." + encode(string(mac.Sum(nil)))
}

func TestTokenTable(t *testing.T) {
	t.Parallel()
	good := goodToken(start)
	parts := strings.Split(good, ".")
	payload := goodClaims(start, nil)
	key := publishedKey()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	pkix := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)})
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{}, &x509.Certificate{},
		&forgersKey().PublicKey, forgersKey())
	if err != nil {
		t.Fatal(err)
	}
	chain := base64.StdEncoding.EncodeToString(certificate)
	header := func(more string) string { return `{"alg":"RS256","kid":"key-1"` + more + `}` }
	claims := func(name string, value any) string {
		return rs256(key, goodHeader, goodClaims(start, map[string]any{name: value}))
	}
	made := func(at time.Time) string {
		return rs256(key, goodHeader, goodClaims(start, map[string]any{"exp": nil, "iat": at.Unix()}))
	}
	const hs = `{"alg":"HS256","kid":"key-1"}`
	near, far := start.Add(-tolerance), start.Add(-tolerance-time.Second)
	soon, late := start.Add(tolerance), start.Add(tolerance+time.Second)

	for _, test := range []struct {
		name  string
		token string
		keys  string // "": the published key
		want  error
	}{
		{name: "good", token: good},
		{name: "audience in a list", token: claims("aud", []string{"x", audience})},
		{name: "no end, just made", token: claims("exp", nil)},
		{name: "no end, as old as Gemini's retries and an hour", token: made(start.Add(-25 * time.Hour))},
		{name: "no time of making", token: claims("iat", nil)},
		{name: "long-lived, by its own word", token: rs256(key, goodHeader,
			goodClaims(start, map[string]any{"iat": start.AddDate(-1, 0, 0).Unix()}))},
		{name: "strange claim", token: claims("event", map[string]any{"a": 1})},
		{name: "embedded key beside the published one", token: rs256(key,
			header(`,"jwk":`+jwk(&forgersKey().PublicKey, keyID)), payload)},
		{name: "expired within the leeway", token: claims("exp", near.Unix())},
		{name: "not yet valid within the leeway", token: claims("nbf", soon.Unix())},
		{name: "issued early within the leeway", token: claims("iat", soon.Unix())},
		{name: "key without use and algorithm", token: good, keys: keySet(jwk(&key.PublicKey, keyID, "use", "", "alg", ""))},
		{name: "key beside two without an id", token: good, keys: keySet(
			jwk(&forgersKey().PublicKey, ""), jwk(&forgersKey().PublicKey, ""), jwk(&key.PublicKey, keyID))},
		{name: "key beside others", token: good, keys: keySet(
			`{"kty":"new","kid":"a"}`, `{}`, `1`, jwk(&curve.PublicKey, "key-1"), jwk(&smallKey().PublicKey, keyID),
			jwk(&key.PublicKey, keyID))},

		{name: "expired", token: claims("exp", far.Unix()), want: trust.ErrStale},
		{name: "not yet valid", token: claims("nbf", late.Unix()), want: trust.ErrStale},
		{name: "issued early", token: claims("iat", late.Unix()), want: trust.ErrStale},
		{name: "no end, older", token: made(start.Add(-25*time.Hour - time.Second)), want: trust.ErrOldToken},
		{name: "no end, a year old", token: made(start.AddDate(-1, 0, 0)), want: trust.ErrOldToken},
		{name: "no end, made in 1970", token: made(time.Unix(0, 0)), want: trust.ErrOldToken},
		{name: "no end, made in the future", token: made(late), want: trust.ErrStale},
		{name: "no times at all", token: rs256(key, goodHeader, `{"aud":"`+audience+`"}`), want: trust.ErrUndated},
		{name: "no times but null", token: rs256(key, goodHeader, `{"aud":"`+audience+`","exp":null,"iat":null}`),
			want: trust.ErrUndated},
		{name: "only a beginning",
			token: rs256(key, goodHeader, goodClaims(start, map[string]any{"exp": nil, "iat": nil, "nbf": start.Unix()})),
			want:  trust.ErrUndated},
		{name: "no times at all, for another audience", token: rs256(key, goodHeader, `{"aud":"x"}`),
			want: gemini.ErrSignature},
		{name: "expired, for another audience", token: rs256(key, goodHeader,
			goodClaims(start, map[string]any{"aud": "x", "exp": 1})), want: gemini.ErrSignature},

		{name: "alg none, unsigned", token: encode(`{"alg":"none","kid":"key-1"}`) + "." + encode(payload) + ".",
			want: gemini.ErrSignature},
		{name: "alg none, with a signature", token: rs256(key, `{"alg":"none","kid":"key-1"}`, payload),
			want: gemini.ErrSignature},
		{name: "alg None", token: encode(`{"alg":"None","kid":"key-1"}`) + "." + encode(payload) + ".AA",
			want: gemini.ErrSignature},
		{name: "alg is missing", token: rs256(key, `{"kid":"key-1"}`, payload), want: gemini.ErrSignature},
		{name: "alg RS512", token: rs256(key, `{"alg":"RS512","kid":"key-1"}`, payload), want: gemini.ErrSignature},
		{name: "alg PS256", token: rs256(key, `{"alg":"PS256","kid":"key-1"}`, payload), want: gemini.ErrSignature},
		{name: "alg is a list", token: rs256(key, `{"alg":["RS256"],"kid":"key-1"}`, payload), want: gemini.ErrSignature},
		{name: "alg twice", token: rs256(key, `{"alg":"RS256","alg":"RS256","kid":"key-1"}`, payload),
			want: gemini.ErrSignature},
		{name: "HS256 with the PEM", token: hs256(pkix, hs, payload), want: gemini.ErrSignature},
		{name: "HS256 with the other PEM", token: hs256(pkcs1, hs, payload), want: gemini.ErrSignature},
		{name: "HS256 with the DER", token: hs256(der, hs, payload), want: gemini.ErrSignature},
		{name: "HS256 with the modulus", token: hs256(key.N.Bytes(), hs, payload), want: gemini.ErrSignature},
		{name: "HS256 with no key", token: hs256(nil, hs, payload), want: gemini.ErrSignature},
		{name: "HMAC that says RS256", token: hs256(pkix, goodHeader, payload), want: gemini.ErrSignature},
		{name: "unpublished key", token: rs256(forgersKey(), goodHeader, payload), want: gemini.ErrSignature},
		{name: "embedded key", token: rs256(forgersKey(), header(`,"jwk":`+jwk(&forgersKey().PublicKey, keyID)),
			payload), want: gemini.ErrSignature},
		{name: "embedded key without kid", token: rs256(forgersKey(),
			`{"alg":"RS256","jwk":`+jwk(&forgersKey().PublicKey, keyID)+`}`, payload), want: gemini.ErrSignature},
		{name: "embedded certificate", token: rs256(forgersKey(), header(`,"x5c":["`+chain+`"]`), payload),
			want: gemini.ErrSignature},
		{name: "address of a key", token: rs256(forgersKey(), header(`,"jku":"https://forger.example/jwks"`), payload),
			want: gemini.ErrSignature},
		{name: "address of a certificate", token: rs256(forgersKey(), header(`,"x5u":"https://forger.example/x"`),
			payload), want: gemini.ErrSignature},
		{name: "critical header", token: rs256(key, header(`,"crit":["x"],"x":1`), payload), want: gemini.ErrSignature},
		{name: "no kid", token: rs256(key, `{"alg":"RS256"}`, payload), want: gemini.ErrSignature},
		{name: "empty kid", token: rs256(key, `{"alg":"RS256","kid":""}`, payload), want: gemini.ErrSignature},
		{name: "kid is a number", token: rs256(key, `{"alg":"RS256","kid":1}`, payload), want: gemini.ErrSignature},
		{name: "kid twice", token: rs256(key, `{"alg":"RS256","kid":"other","kid":"key-1"}`, payload),
			want: gemini.ErrSignature},
		{name: "kid in other letters", token: rs256(key, `{"alg":"RS256","KID":"key-1"}`, payload),
			want: gemini.ErrSignature},
		{name: "unknown kid", token: rs256(key, `{"alg":"RS256","kid":"key-2"}`, payload), want: gemini.ErrSignature},
		{name: "longest kid", token: rs256(key, `{"alg":"RS256","kid":"`+strings.Repeat("k", 256)+`"}`, payload),
			keys: keySet(jwk(&key.PublicKey, strings.Repeat("k", 256)))},
		{name: "long kid", token: rs256(key, `{"alg":"RS256","kid":"`+strings.Repeat("k", 257)+`"}`, payload),
			keys: keySet(jwk(&key.PublicKey, strings.Repeat("k", 257))), want: gemini.ErrSignature},

		{name: "other audience", token: claims("aud", "https://receiver.example/"), want: gemini.ErrSignature},
		{name: "no audience", token: claims("aud", nil), want: gemini.ErrSignature},
		{name: "empty audience", token: claims("aud", ""), want: gemini.ErrSignature},
		{name: "empty list of audiences", token: claims("aud", []string{}), want: gemini.ErrSignature},
		{name: "audience is a number", token: claims("aud", 1), want: gemini.ErrSignature},
		{name: "audience twice", token: rs256(key, goodHeader, `{"aud":"x","aud":"`+audience+`"}`),
			want: gemini.ErrSignature},
		{name: "audience in other letters", token: rs256(key, goodHeader, `{"Aud":"`+audience+`"}`),
			want: gemini.ErrSignature},
		{name: "time is no number", token: claims("exp", "tomorrow"), want: gemini.ErrSignature},
		{name: "time beyond all", token: claims("nbf", 1e300), want: gemini.ErrSignature},
		{name: "payload is no object", token: rs256(key, goodHeader, `["`+audience+`"]`), want: gemini.ErrSignature},
		{name: "payload is null", token: rs256(key, goodHeader, `null`), want: gemini.ErrSignature},
		{name: "payload is not JSON", token: rs256(key, goodHeader, `aud`), want: gemini.ErrSignature},
		{name: "two payloads", token: rs256(key, goodHeader, payload+payload), want: gemini.ErrSignature},

		{name: "other payload", token: parts[0] + "." + encode(goodClaims(start, map[string]any{"sub": "x"})) + "." +
			parts[2], want: gemini.ErrSignature},
		{name: "other header", token: encode(header(``)) + "." + parts[1] + "." + parts[2], want: gemini.ErrSignature},
		{name: "truncated", token: good[:len(good)-1], want: gemini.ErrSignature},
		{name: "longer", token: good + "AA", want: gemini.ErrSignature},
		{name: "no signature", token: parts[0] + "." + parts[1] + ".", want: gemini.ErrSignature},
		{name: "two parts", token: parts[0] + "." + parts[1], want: gemini.ErrSignature},
		{name: "four parts", token: good + ".AA", want: gemini.ErrSignature},
		{name: "five parts", token: good + ".AA.AA", want: gemini.ErrSignature},
		{name: "dots only", token: "..", want: gemini.ErrSignature},
		{name: "padding", token: good + "==", want: gemini.ErrSignature},
		{name: "line break at the end", token: good + "\n", want: gemini.ErrSignature},
		{name: "line break inside", token: good[:10] + "\r\n" + good[10:], want: gemini.ErrSignature},
		{name: "tab", token: "\t" + good, want: gemini.ErrSignature},
		{name: "stray bits at the end", token: good[:len(good)-1] + stray(good[len(good)-1]), want: gemini.ErrSignature},
		{name: "standard alphabet", token: strings.NewReplacer("-", "+", "_", "/").Replace(good), want: gemini.ErrSignature},
		{name: "JSON serialization", token: `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` +
			parts[2] + `"}`, want: gemini.ErrSignature},
		{name: "as long as may be", token: long(key, 16<<10)},
		{name: "too long", token: long(key, 16<<10+1), want: gemini.ErrSignature},
		{name: "deep header", token: encode(`{"alg":"RS256","kid":"key-1","x":`+strings.Repeat("[", 11000)) + ".AA.AA",
			want: gemini.ErrSignature},

		{name: "small key", token: rs256(smallKey(), goodHeader, payload),
			keys: keySet(jwk(&smallKey().PublicKey, keyID), jwk(&key.PublicKey, "b")), want: gemini.ErrSignature},
		{name: "key for encryption", token: good, keys: keySet(jwk(&key.PublicKey, keyID, "use", "enc"),
			jwk(&key.PublicKey, "b")), want: gemini.ErrSignature},
		{name: "key for another algorithm", token: good, keys: keySet(jwk(&key.PublicKey, keyID, "alg", "RS512"),
			jwk(&key.PublicKey, "b")), want: gemini.ErrSignature},
		{name: "curve for a key", token: good, keys: keySet(jwk(&curve.PublicKey, keyID), jwk(&key.PublicKey, "b")),
			want: gemini.ErrSignature},
		{name: "secret for a key", token: hs256([]byte("k"), hs, payload),
			keys: keySet(`{"kty":"oct","kid":"key-1","k":"aw"}`, jwk(&key.PublicKey, "b")), want: gemini.ErrSignature},
		{name: "key without an id", token: rs256(key, `{"alg":"RS256","kid":""}`, payload),
			keys: keySet(jwk(&key.PublicKey, ""), jwk(&key.PublicKey, "b")), want: gemini.ErrSignature},
		{name: "two keys with one id", token: good, keys: keySet(jwk(&forgersKey().PublicKey, keyID),
			jwk(&key.PublicKey, keyID)), want: trust.ErrUnavailable},
	} {
		t.Run("W1 "+test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if test.keys != "" {
				w.keys.set(test.keys, nil)
			}
			err := w.verify(headers(start, test.token), start)
			unavailable := test.want == trust.ErrUnavailable //nolint:errorlint // a constant of this table
			if unavailable && strings.HasPrefix(fmt.Sprint(err), trust.ErrUnavailable.Error()) {
				return
			}
			if err != test.want { //nolint:errorlint // promised unwrapped
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// long returns a good token of so many bytes.
func long(key *rsa.PrivateKey, size int) string {
	const signature = 342                       // of 256 bytes
	for header := goodHeader; ; header += " " { // base64 makes not every length of one part
		for n := size*3/4 - 500; n < size*3/4; n++ {
			payload := goodClaims(start, map[string]any{"x": strings.Repeat("x", n)})
			if len(encode(header))+1+len(encode(payload))+1+signature == size {
				return rs256(key, header, payload)
			}
		}
	}
}

// stray returns another character that decodes to the same bytes: the last one of a 256-byte
// signature has four unused bits.
func stray(last byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, last)|1])
}

func TestIssuers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tokens, err := trust.NewTokens(trust.TokensOptions{
		Audiences: []string{audience}, Issuers: []string{"accounts.google.com", "https://accounts.google.com"},
		Transport: keysTransport(w),
	})
	if err != nil {
		t.Fatal(err)
	}
	gate := newGate(t, nil, tokens)
	for issuer, want := range map[any]error{
		"https://accounts.google.com": nil, "accounts.google.com": nil,
		"https://accounts.google.com/": gemini.ErrSignature, "": gemini.ErrSignature, nil: gemini.ErrSignature,
		1: gemini.ErrSignature,
	} {
		token := rs256(publishedKey(), goodHeader, goodClaims(start, map[string]any{"iss": issuer}))
		_, err := gate.Verify(t.Context(), headers(start, token), whole([]byte(body)), start)
		if err != want { //nolint:errorlint // promised unwrapped
			t.Errorf("W1 issuer %v: got %v, want %v", issuer, err, want)
		}
	}
}

// TestReplayWithAnotherBody: a token does not prove its body: it fits any body, which is why Bound
// is false.
func TestReplayWithAnotherBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := headers(start.Add(time.Minute), goodToken(start))
	h.Set("webhook-id", "msg_2")
	proof, err := w.gate.Verify(t.Context(), h, whole([]byte(`{"forged":true}`)), start.Add(time.Minute))
	if err != nil || proof.Bound {
		t.Errorf("W1: bound %t, %v", proof.Bound, err)
	}
}
