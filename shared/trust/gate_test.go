package trust_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/trust"
	"github.com/opledger/opledger/test/harness"
)

func TestGateTable(t *testing.T) {
	t.Parallel()
	static, old, token := sign(secretA, start), sign(secretB, start), goodToken(start)
	forged := rs256(forgersKey(), goodHeader, goodClaims(start, nil))
	expired := rs256(publishedKey(), goodHeader, goodClaims(start, map[string]any{"exp": start.Add(-time.Hour).Unix()}))
	without := func(name string, signatures ...string) http.Header {
		h := headers(start, signatures...)
		h.Del(name)
		return h
	}
	with := func(name, value string, signatures ...string) http.Header {
		h := headers(start, signatures...)
		h.Set(name, value)
		return h
	}
	for _, test := range []struct {
		name  string
		h     http.Header
		now   time.Time
		want  error
		bound bool
	}{
		{name: "W1 static", h: headers(start, static), bound: true},
		{name: "G3 static with the other version", h: headers(start, old), bound: true},
		{name: "G3 both during a rotation", h: headers(start, old+" "+static), bound: true},
		{name: "W1 static after a wrong one", h: headers(start, "v1,AAAA "+static), bound: true},
		{name: "W1 static in a second line", h: headers(start, "v1,AAAA", static), bound: true},
		{name: "W1 token", h: headers(start, token)},
		{name: "W1 static beside a token", h: headers(start, static+" "+token), bound: true},
		{name: "W1 static beside a forged token", h: headers(start, forged, static), bound: true},
		{name: "W1 token beside a wrong static", h: headers(start, "v1,AAAA "+token)},
		{name: "W1 token before a wrong static", h: headers(start, token, "v1,AAAA")},

		{name: "W1 wrong static", h: headers(start, "v1,AAAA"), want: gemini.ErrSignature},
		{name: "W1 both wrong", h: headers(start, "v1,AAAA "+forged), want: gemini.ErrSignature},
		{name: "W1 nothing", h: headers(start), want: gemini.ErrSignature},
		{name: "W1 empty", h: headers(start, ""), want: gemini.ErrSignature},
		{name: "W1 no headers", want: gemini.ErrSignature},
		{name: "W1 no id", h: without("webhook-id", static), want: gemini.ErrSignature},
		{name: "W1 token without an id", h: without("webhook-id", token), want: gemini.ErrSignature},
		{name: "W1 other id", h: with("webhook-id", "msg_2", static), want: gemini.ErrSignature},
		{name: "W1 static without its version", h: headers(start, strings.TrimPrefix(static, "v1,")),
			want: gemini.ErrSignature},
		{name: "W1 token as a static signature", h: headers(start, "v1,"+token), want: gemini.ErrSignature},
		{name: "W1 token twice", h: headers(start, token+" "+token), want: gemini.ErrSignature},
		{name: "W1 token in two lines", h: headers(start, token, token), want: gemini.ErrSignature},
		{name: "W1 token beside another word", h: headers(start, token+" v2,x"), want: gemini.ErrSignature},
		{name: "W1 token after white space", h: headers(start, " "+token), want: gemini.ErrSignature},
		{name: "W1 token as a bearer", h: headers(start, "Bearer "+token), want: gemini.ErrSignature},

		{name: "W2 no time", h: without("webhook-timestamp", static), want: gemini.ErrSignature},
		{name: "W2 token without a time", h: without("webhook-timestamp", token), want: gemini.ErrSignature},
		{name: "W2 token with a time that is none", h: with("webhook-timestamp", "soon", token), want: gemini.ErrSignature},
		{name: "W2 token with a time beyond all", h: with("webhook-timestamp", "9999999999999", token),
			want: gemini.ErrSignature},
		{name: "W2 token with a far time", h: with("webhook-timestamp", "999999999999", token), want: trust.ErrStale},
		{name: "W2 static, exactly the tolerance old", h: headers(start, static), now: start.Add(tolerance), bound: true},
		{name: "W2 static, exactly the tolerance early", h: headers(start, static), now: start.Add(-tolerance), bound: true},
		{name: "W2 static, older", h: headers(start, static), now: start.Add(tolerance + 1), want: trust.ErrStale},
		{name: "W2 static, earlier", h: headers(start, static), now: start.Add(-tolerance - 1), want: trust.ErrStale},
		{name: "W2 wrong and old is wrong", h: headers(start, "v1,AAAA"), now: start.Add(time.Hour),
			want: gemini.ErrSignature},
		{name: "W2 token, exactly the tolerance old", h: headers(start, token), now: start.Add(tolerance)},
		{name: "W2 token, older", h: headers(start, token), now: start.Add(tolerance + 1), want: trust.ErrStale},
		{name: "W2 token, earlier", h: headers(start, token), now: start.Add(-tolerance - 1), want: trust.ErrStale},
		{name: "W2 forged token, older", h: headers(start, forged), now: start.Add(time.Hour), want: gemini.ErrSignature},
		{name: "W2 expired token beside a wrong static", h: headers(start, "v1,AAAA "+expired), want: trust.ErrStale},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.secrets.set(versions(secretB, secretA), nil)
			now := test.now
			if now.IsZero() {
				now = start
			}
			proof, err := w.gate.Verify(t.Context(), test.h, whole([]byte(body)), now)
			if err != test.want { //nolint:errorlint // promised unwrapped where nothing is known beside it
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if proof.Bound != test.bound || (proof.Claims != nil) != (err == nil && !test.bound) {
				t.Errorf("bound %t with claims %s, want bound %t", proof.Bound, proof.Claims, test.bound)
			}
		})
	}
}

// TestGateWithoutOneKind: a delivery is answered 503 where its kind of proof could not be checked,
// and 401 where nothing fits.
func TestGateWithoutOneKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secrets, err := trust.FixedSecrets(secretB, secretA)
	if err != nil {
		t.Fatal(err)
	}
	neither, onlyStatic := newGate(t, nil, nil), newGate(t, secrets, nil)
	static, token := sign(secretA, start), goodToken(start)
	w.secrets.set(nil, nil)
	for _, test := range []struct {
		name string
		gate *trust.Gate
		h    http.Header
		want error
	}{
		{"static without secrets", neither, headers(start, static), gemini.ErrNoSecret},
		{"token without an audience", neither, headers(start, token), trust.ErrNoAudience},
		{"nothing at all", neither, headers(start), gemini.ErrSignature},
		{"what is no token", neither, headers(start, "v2,AAAA"), gemini.ErrSignature},
		{"both, neither can be judged", neither, headers(start, static, token), gemini.ErrNoSecret},
		{"fixed secret", onlyStatic, headers(start, static), nil},
		{"fixed secret, wrong", onlyStatic, headers(start, "v1,AAAA"), gemini.ErrSignature},
		{"fixed secret and a token", onlyStatic, headers(start, token, "v1,AAAA"), trust.ErrNoAudience},
		{"no version yet", w.gate, headers(start, static), gemini.ErrNoSecret},
		{"no version yet, and a token", w.gate, headers(start, static, token), nil},
		{"no version yet, and a wrong token", w.gate, headers(start, static, "a.b.c"), gemini.ErrNoSecret},
	} {
		_, err := test.gate.Verify(t.Context(), test.h, whole([]byte(body)), start)
		if err != test.want { //nolint:errorlint // exactly
			t.Errorf("W1 %s: got %v, want %v", test.name, err, test.want)
		}
	}
	if !errors.Is(trust.ErrNoAudience, gemini.ErrSignature) {
		t.Error("W1: a token that is not accepted is not answered as a wrong one")
	}
}

func TestMistakesInOptions(t *testing.T) {
	t.Parallel()
	if _, err := trust.New(trust.Options{}); err == nil {
		t.Error("W2: a gate without a tolerance")
	}
	if _, err := trust.FixedSecrets(); !errors.Is(err, gemini.ErrNoSecret) {
		t.Errorf("W1: no fixed secret: %v", err)
	}
	if _, err := trust.FixedSecrets(secretA, "whsec_"); !errors.Is(err, gemini.ErrSecret) {
		t.Errorf("W1: an empty fixed secret: %v", err)
	}
	good := []string{audience}
	for url, ok := range map[string]bool{
		"": true, "https://keys.example/jwks": true, "http://127.0.0.1:8080/jwks": true, "http://[::1]/jwks": true,
		"http://localhost:8080/jwks": true, "http://keys.example/jwks": false, "http://127.0.0.1.keys.example/": false,
		"http://10.0.0.1/jwks": false, "file:///etc/jwks": false, "https://": false, "keys.example": false, ":": false,
		"https://me@keys.example/jwks": false,
	} {
		if _, err := trust.NewTokens(trust.TokensOptions{Audiences: good, KeysURL: url}); (err == nil) != ok {
			t.Errorf("keys at %q: %v", url, err)
		}
	}
	for name, o := range map[string]trust.TokensOptions{
		"no audience":    {},
		"empty audience": {Audiences: []string{audience, ""}},
		"empty issuer":   {Audiences: good, Issuers: []string{""}},
	} {
		if _, err := trust.NewTokens(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestNothingIsPrinted: everything that holds a secret is printed in every way, and no secret
// appears.
func TestNothingIsPrinted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.verify(headers(start, sign(secretA, start)), start); err != nil {
		t.Fatal(err)
	}
	secrets, err := trust.FixedSecrets(secretA)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := trust.NewTokens(trust.TokensOptions{Audiences: []string{audience}})
	if err != nil {
		t.Fatal(err)
	}
	secret := versions(secretA)[0]
	log := &harness.Log{}
	for _, v := range []any{w.gate, secrets, tokens, secret, &secret, []trust.Secret{secret}, versions(secretA)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			silent(t, fmt.Sprintf(verb, v), secretA, "MDEyMzQ1", "0123456789abcdef")
		}
		slog.New(slog.NewJSONHandler(log, nil)).Info("x", "v", v)
	}
	silent(t, fmt.Sprint(log.Drain(t)), secretA, "MDEyMzQ1")
}
