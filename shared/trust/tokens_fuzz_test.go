package trust_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// FuzzToken: a delivery without a static signature is accepted exactly if its token is the genuine
// one, byte for byte [W1].
func FuzzToken(f *testing.F) {
	w := newWorld(f)
	good := goodToken(start)
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		good, good + " v1,AAAA", " " + good, good + ".", good + "=", good + "\n", good[:len(good)-1], "", "..", "a.b.c",
		"v1,AAAA",
		parts[0] + "." + parts[1] + ".", parts[0] + ".." + parts[2],
		encode(`{"alg":"none","kid":"key-1"}`) + "." + parts[1] + ".",
		hs256(publishedKey().N.Bytes(), `{"alg":"HS256","kid":"key-1"}`, goodClaims(start, nil)),
		rs256(forgersKey(), `{"alg":"RS256","kid":"key-1","jwk":`+jwk(&forgersKey().PublicKey, keyID)+`}`,
			goodClaims(start, nil)),
		encode(`{"alg":"RS256","kid":"key-1","b64":false,"crit":["b64"]}`) + "." + parts[1] + "." + parts[2],
	} {
		f.Add(seed, []byte(body))
	}
	f.Fuzz(func(t *testing.T, signature string, raw []byte) {
		others := slices.DeleteFunc(strings.Split(signature, " "), func(s string) bool { return strings.HasPrefix(s, "v1,") })
		right := len(others) == 1 && others[0] == good && len(signature) <= 20<<10
		proof, err := w.gate.Verify(t.Context(), headers(start, signature), whole(raw), start)
		switch {
		case err == nil && proof.Bound:
			// The fuzzer would have found an HMAC.
			t.Fatal("W1: a static signature out of nothing")
		case (err == nil) != right:
			t.Fatalf("W1: got %v for a token that is right: %t", err, right)
		case err != nil && !errors.Is(err, gemini.ErrSignature):
			t.Fatalf("W1: an unknown error: %v", err)
		case err == nil && string(proof.Claims) != goodClaims(start, nil):
			t.Fatalf("W1: other claims: %s", proof.Claims)
		}
	})
}
