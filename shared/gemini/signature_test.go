package gemini_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/gemini"
)

const (
	secretA   = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 0123456789abcdef twice
	secretB   = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
	vectorRaw = `{"type":"batch.succeeded","version":"v1","timestamp":"2026-01-22T12:00:00Z",` +
		`"data":{"id":"batches/abc123"}}`
	vectorSig = "v1,Ji0fMZWrXihCWK0BcPBgtjRuughdnVgxaqEe7gDrUN8="
)

func newVerifier(t testing.TB, secrets ...string) *gemini.Verifier {
	t.Helper()
	v, err := gemini.NewVerifier(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func headers(id, stamp string, signatures ...string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	for _, s := range signatures {
		h.Add("webhook-signature", s)
	}
	return h
}

// sign is the signature as the standard defines it, written as plainly as possible.
func sign(secret, id, stamp, body string) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestVerifyVector(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, secretA)
	if err := v.Verify(headers("msg_1", "1700000000", vectorSig), []byte(vectorRaw)); err != nil {
		t.Fatalf("W1: the published vector is refused: %v", err)
	}
}

func TestVerifyTable(t *testing.T) {
	t.Parallel()
	const id, stamp, body = "msg_1", "1700000000", vectorRaw
	good, old := sign(secretA, id, stamp, body), sign(secretB, id, stamp, body)
	mac := strings.TrimPrefix(good, "v1,")
	flipped := "v1,K" + mac[1:]
	for _, test := range []struct {
		name string
		h    http.Header
		body string
		want error
	}{
		{name: "W1 one signature", h: headers(id, stamp, good)},
		{name: "G3 signed with the other secret", h: headers(id, stamp, old)},
		{name: "G3 both, during a rotation", h: headers(id, stamp, old+" "+good)},
		{name: "W1 the good one last", h: headers(id, stamp, "v1,AAAA v2,x v1a,y  "+flipped+" "+good)},
		{name: "W1 the good one first", h: headers(id, stamp, good+" "+flipped)},
		{name: "W1 in a second header line", h: headers(id, stamp, flipped, good)},
		{name: "W1 leading zero signed as received", h: headers(id, "01700000000", sign(secretA, id, "01700000000", body))},
		{name: "W1 leading zero not signed as such", h: headers(id, "01700000000", good), want: gemini.ErrSignature},
		{name: "W1 wrong signature", h: headers(id, stamp, flipped), want: gemini.ErrSignature},
		{name: "W1 no version", h: headers(id, stamp, mac), want: gemini.ErrSignature},
		{name: "W1 other version", h: headers(id, stamp, "v1a,"+mac), want: gemini.ErrSignature},
		{name: "W1 capital version", h: headers(id, stamp, "V1,"+mac), want: gemini.ErrSignature},
		{name: "W1 contains the good one", h: headers(id, stamp, "v1,x"+mac), want: gemini.ErrSignature},
		{name: "W1 continues after the good one", h: headers(id, stamp, good+",x"), want: gemini.ErrSignature},
		{name: "W1 cut short", h: headers(id, stamp, good[:20]), want: gemini.ErrSignature},
		{name: "W1 empty entry", h: headers(id, stamp, "v1,"), want: gemini.ErrSignature},
		{name: "W1 a bare JWT", h: headers(id, stamp, "eyJh.eyJi.c2ln"), want: gemini.ErrSignature},
		{
			name: "W1 URL alphabet", h: headers(id, stamp, strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(good)),
			want: gemini.ErrSignature,
		},
		{name: "W1 no signature", h: headers(id, stamp), want: gemini.ErrSignature},
		{name: "W1 empty signature", h: headers(id, stamp, ""), want: gemini.ErrSignature},
		{name: "W1 no headers", h: http.Header{}, want: gemini.ErrSignature},
		{name: "W1 nil headers", want: gemini.ErrSignature},
		{name: "W1 no id", h: headers("", stamp, sign(secretA, "", stamp, body)), want: gemini.ErrSignature},
		{name: "W1 no time", h: headers(id, "", sign(secretA, id, "", body)), want: gemini.ErrSignature},
		{name: "W1 other id", h: headers("msg_2", stamp, good), want: gemini.ErrSignature},
		{name: "W1 other time", h: headers(id, "1700000001", good), want: gemini.ErrSignature},
		{name: "W1 other body", h: headers(id, stamp, good), body: body + " ", want: gemini.ErrSignature},
		{name: "W1 the empty key", h: headers(id, stamp, sign("whsec_", id, stamp, body)), want: gemini.ErrSignature},
		{name: "W2 time is no number", h: headers(id, "soon", sign(secretA, id, "soon", body)), want: gemini.ErrSignature},
		{
			name: "W2 time is negative", h: headers(id, "-1700000000", sign(secretA, id, "-1700000000", body)),
			want: gemini.ErrSignature,
		},
		{
			name: "W2 time is a fraction", h: headers(id, "1700000000.5", sign(secretA, id, "1700000000.5", body)),
			want: gemini.ErrSignature,
		},
		{
			name: "W2 time is out of range",
			h:    headers(id, "9223372036854775807", sign(secretA, id, "9223372036854775807", body)),
			want: gemini.ErrSignature,
		},
		{
			name: "W2 the time is the caller's to check",
			h:    headers(id, "999999999999", sign(secretA, id, "999999999999", body)),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			raw := cmp.Or(test.body, body)
			if err := newVerifier(t, secretA, secretB).Verify(test.h,
				[]byte(raw)); err != test.want { //nolint:errorlint // promised unwrapped
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestVerifyOracle compares with the standard's own library on thousands of deliveries, some of
// them spoilt.
func TestVerifyOracle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return b
	}
	accepted := 0
	for range 5000 {
		key := text(16 + random.IntN(80)) // beyond SHA-256's block, where an HMAC hashes its key
		secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
		oracle, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		id, body, at := "msg_"+strconv.Itoa(random.IntN(1000)), text(random.IntN(300)), time.Unix(random.Int64N(1e10), 0)
		signature, err := oracle.Sign(id, at, body)
		if err != nil {
			t.Fatal(err)
		}
		h := headers(id, strconv.FormatInt(at.Unix(), 10), signature)
		switch random.IntN(6) {
		case 0:
			h.Set("webhook-id", id+"x")
		case 1:
			body = append(body, '!')
		case 2:
			h.Set("webhook-signature", "v1,AAAA "+signature+" v1,BBBB")
		case 3:
			spoilt := []byte(signature)
			spoilt[3+random.IntN(len(spoilt)-3)] ^= 1
			h.Set("webhook-signature", string(spoilt))
		}
		want := oracle.VerifyIgnoringTimestamp(body, h)
		got := newVerifier(t, secret).Verify(h, body)
		if (got == nil) != (want == nil) {
			t.Fatalf("W1: headers %v, body %q: got %v, the standard's library says %v", h, body, got, want)
		}
		if got == nil {
			accepted++
		}
	}
	if accepted < 1000 || accepted > 4000 {
		t.Errorf("%d of 5000 accepted: the test no longer tries both", accepted)
	}
}

func TestVerifyConcurrently(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, secretB, secretA)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprintf("msg_%d", i)
			for j := range 200 {
				body := strings.Repeat("x", j)
				good := headers(id, "1700000000", sign(secretA, id, "1700000000", body))
				if err := v.Verify(good, []byte(body)); err != nil {
					t.Errorf("W1: %v", err)
				}
				if err := v.Verify(good, []byte(body+"y")); !errors.Is(err, gemini.ErrSignature) {
					t.Errorf("W1: a wrong body: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// TestVerifyLongHeaders: long headers are verified correctly, with pooled buffers.
func TestVerifyLongHeaders(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, secretA)
	id := strings.Repeat("i", 1<<20)
	many := strings.Repeat("v1,"+strings.Repeat("A", 44)+" ", 10000)
	h := headers(id, "1700000000", many+sign(secretA, id, "1700000000", "{}"))
	if err := v.Verify(h, []byte("{}")); err != nil {
		t.Errorf("W1: %v", err)
	}
	h.Set("webhook-signature", strings.Repeat("v1,", 1<<18))
	if err := v.Verify(h, []byte("{}")); !errors.Is(err, gemini.ErrSignature) {
		t.Errorf("W1: %v", err)
	}
}
