package trust_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/trust"
)

// signText signs a whole text, wherever it is divided.
func signText(text string) string {
	mac := hmac.New(sha256.New, []byte("0123456789abcdef0123456789abcdef"))
	mac.Write([]byte(text))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// divisions calls try for every division of a signed text into id, timestamp and body.
func divisions(text string, try func(id string, at time.Time, body string)) {
	for i := range text {
		if text[i] != '.' {
			continue
		}
		stamp, body, ok := strings.Cut(text[i+1:], ".")
		at, isTime := gemini.ParseTimestamp(stamp)
		if ok && isTime && at.Unix() >= 1e9 { // any other has been stale since 2001
			try(text[:i], at, body)
		}
	}
}

// TestDividedAgain: a captured delivery cannot be divided at another dot and be accepted, at any
// time. A dot in an id is no reason to refuse it [W1].
func TestDividedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stamp := strconv.FormatInt(start.Unix(), 10)
	verify := func(id string, at time.Time, body, signature string) error {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
			"Webhook-Signature": {signature}}
		_, err := w.gate.Verify(t.Context(), h, whole([]byte(body)), at)
		return err
	}
	message := `{"type":"batch.failed","data":{"id":"batches/a","error_message":"x.` + stamp + `.{\"type\":1}"}}`
	for _, c := range []struct {
		id, body string
		want     error
	}{
		{"msg_1", message, nil},
		{"a.b", message, nil},
		{"msg.1a", message, nil},
		{"1.2.x", message, nil},
		{"msg." + stamp + ".x", message, nil},
		{"ends.", message, nil},
		{".", message, nil},
		{stamp, message, nil},
		{"." + stamp, message, trust.ErrAmbiguous},
		{"msg.1234567890123", message, nil}, // no timestamp has so many digits
		{"msg_1", "not JSON", nil},
		{"msg_1", "see 10.0.0.1. Then {", nil},
		{"msg." + stamp, message, trust.ErrAmbiguous},
		{"msg.7", message, trust.ErrAmbiguous},
		{"a.b.007", message, trust.ErrAmbiguous},
		{"msg_1." + stamp + `.{"x":"y`, message, trust.ErrAmbiguous},
		{"msg_1", stamp + "." + message, trust.ErrAmbiguous},
		{"msg_1", "more of an id." + stamp + "." + message, trust.ErrAmbiguous},
	} {
		text := c.id + "." + stamp + "." + c.body
		signature := signText(text)
		if err := verify(c.id, start, c.body, signature); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("id %q, body %.40q: %v, want %v", c.id, c.body, err, c.want)
		}
		taken := 0
		divisions(text, func(id string, at time.Time, body string) {
			err := verify(id, at, body, signature)
			if err == nil {
				taken++
			} else if !errors.Is(err, gemini.ErrSignature) {
				t.Errorf("id %q, body %.40q: %v", id, body, err)
			}
		})
		if c.want == nil && taken != 1 || taken > 1 {
			t.Errorf("id %q, body %.40q: %d divisions are taken, want 1 at most", c.id, c.body, taken)
		}
		err := verify(c.id, start, c.body, sign(secretB, start))
		if err != gemini.ErrSignature { //nolint:errorlint // promised unwrapped
			t.Errorf("forged, id %q: %v", c.id, err)
		}
	}
}

// TestHeadersFirst: where the headers rule a delivery out its body is not read. Long headers cost
// next to nothing [W1, W7].
func TestHeadersFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	static, token := sign(secretA, start), goodToken(start)
	with := func(name, value string, signatures ...string) http.Header {
		h := headers(start, signatures...)
		h.Set(name, value)
		return h
	}
	unread := errors.New("the body breaks off")
	none := newGate(t, nil, nil)
	for name, c := range map[string]struct {
		h     http.Header
		gate  *trust.Gate
		want  error
		asked bool
	}{
		"nothing":        {h: http.Header{}, want: gemini.ErrSignature},
		"no signature":   {h: headers(start), want: gemini.ErrSignature},
		"no id":          {h: with("webhook-id", "", static), want: gemini.ErrSignature},
		"a long id":      {h: with("webhook-id", strings.Repeat("x", 1025), static), want: gemini.ErrSignature},
		"the longest id": {h: with("webhook-id", strings.Repeat("x", 1024), token)},
		"no time":        {h: with("webhook-timestamp", "soon", static), want: gemini.ErrSignature},
		"another scheme": {h: headers(start, "v2,AAAA"), want: gemini.ErrSignature},
		"960 KB of signatures": {h: headers(start, static+strings.Repeat(" v1,"+strings.Repeat("A", 44), 20_000)),
			want: gemini.ErrSignature},
		"20 KB of signatures": {h: headers(start, static+strings.Repeat("A", 20<<10-len(static))), want: unread, asked: true},
		"a byte more": {h: headers(start, static+strings.Repeat("A", 20<<10+1-len(static))),
			want: gemini.ErrSignature},
		"as many in lines": {h: headers(start, strings.Split(static+strings.Repeat(" "+static, 20_000), " ")...),
			want: gemini.ErrSignature},
		"a forged token": {h: headers(start, rs256(forgersKey(), goodHeader, goodClaims(start, nil))),
			want: gemini.ErrSignature},
		"a token, and no audience":   {h: headers(start, token), gate: none, want: trust.ErrNoAudience},
		"a signature, and no secret": {h: headers(start, static), gate: none, want: gemini.ErrNoSecret},
		"an old token":               {h: headers(start.Add(-time.Hour), token), want: trust.ErrStale},
		"a good token":               {h: headers(start, token)},
		"a static signature":         {h: headers(start, static), want: unread, asked: true},
		"a wrong one":                {h: headers(start, "v1,AAAA"), want: unread, asked: true},
		"80 of them":                 {h: headers(start, static+strings.Repeat(" "+static, 79)), want: unread, asked: true},
		"one beside a good token":    {h: headers(start, static+" "+token), asked: true},
	} {
		asked := false
		gate := c.gate
		if gate == nil {
			gate = w.gate
		}
		_, err := gate.Verify(t.Context(), c.h, func() ([]byte, error) {
			asked = true
			return nil, fmt.Errorf("reading it: %w", unread)
		}, start)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || asked != c.asked {
			t.Errorf("%s: %v, the body was asked for: %t; want %v, %t", name, err, asked, c.want, c.asked)
		}
	}
}
