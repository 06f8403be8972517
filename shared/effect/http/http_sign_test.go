package http

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/gemini"
)

const (
	older = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newer = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// TestSign: the headers are those of Standard Webhooks. A receiver with any of the secrets can
// verify them, with the official library and with an independent verifier.
func TestSign(t *testing.T) {
	t.Parallel()
	signer, err := NewSigner(newer, " "+older+"\n")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	body := []byte(`{"operation":"batches/a","metadata":{"who":"é"}}`)
	header := http.Header{}
	if err := signer.sign(t.Context(), header, "gemini:batches/a#publish", now, body); err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(header.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures, want one for each secret", n)
	}
	for _, secret := range []string{older, newer} {
		receiver, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		other, err := gemini.NewVerifier(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := receiver.Verify(body, header); err != nil {
			t.Errorf("the official library: %v", err)
		}
		if err := other.Verify(header, body); err != nil {
			t.Errorf("another verifier: %v", err)
		}
		for what, tamper := range map[string]func(http.Header) []byte{
			"another body": func(http.Header) []byte { return []byte(`{}`) },
			"another id":   func(h http.Header) []byte { h.Set("webhook-id", "msg_x"); return body },
			"another time": func(h http.Header) []byte { h.Set("webhook-timestamp", fmt.Sprint(now.Unix()+1)); return body },
		} {
			h := header.Clone()
			if err := receiver.Verify(tamper(h), h); err == nil {
				t.Errorf("%s fits the signature", what)
			}
		}
	}
	stranger, err := standardwebhooks.NewWebhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Verify(body, header); err == nil {
		t.Error("another secret fits the signature")
	}
}

// TestSignKnown: the signature of the specification's own example.
func TestSignKnown(t *testing.T) {
	t.Parallel()
	signer, err := NewSigner(older)
	if err != nil {
		t.Fatal(err)
	}
	got, err := signer.keys[0].Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0),
		[]byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// TestWebhookID: one key has one id, and no name of an operation makes an id with a full stop.
func TestWebhookID(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, key := range []string{"gemini:batches/a#publish", "gemini:batches/a#publish@2",
		"gemini:batches/a.1700000000#p", "gemini:ä b#p", strings.Repeat("x", 2000)} {
		id := webhookID(key)
		if id != webhookID(key) || ids[id] != "" || len(id) > 64 || strings.Trim(id,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%s: %s, which is also that of %q", key, id, ids[id])
		}
		ids[id] = key
	}
}

// TestBadSecrets: a secret that cannot be used is refused, above all an empty one, and not quoted.
func TestBadSecrets(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{
		nil, {""}, {"whsec_"}, {"whsec_AAAA"}, {"hunter2"}, {"whsec_hunter2!"}, {older,
			"whsec_aHVudGVyMg=="}, {strings.TrimPrefix(older, "whsec_")},
	} {
		if s, err := NewSigner(secrets...); err == nil || s != nil || strings.Contains(err.Error(), "hunter2") ||
			strings.Contains(err.Error(), "aHVudGVyMg") {
			t.Errorf("%q: %v %v", secrets, s, err)
		}
	}
}

// TestSignerPrinted: no form of printing shows a key.
func TestSignerPrinted(t *testing.T) {
	t.Parallel()
	signer, err := NewSigner(older)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(form, signer); got != "effect.Signer(1 keys)" {
			t.Errorf("%s prints %s", form, got)
		}
	}
}
