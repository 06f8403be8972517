package gemini_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// BenchmarkVerify compares with BenchmarkBareHMAC, its lower bound, and with BenchmarkKeyedHMAC,
// its lower bound without a pool.
func BenchmarkVerify(b *testing.B) {
	v := newVerifier(b, secretA)
	h, body := headers("msg_1", "1700000000", vectorSig), []byte(vectorRaw)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Verify(h, body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyRotation has two secrets and two signatures, as for a day after a rotation.
func BenchmarkVerifyRotation(b *testing.B) {
	v := newVerifier(b, secretB, secretA)
	both := sign(secretB, "msg_1", "1700000000", vectorRaw) + " " + vectorSig
	h, body := headers("msg_1", "1700000000", both), []byte(vectorRaw)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Verify(h, body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareHMAC signs the same bytes with an HMAC that is already keyed.
func BenchmarkBareHMAC(b *testing.B) {
	mac, signed := hmac.New(sha256.New, benchKey(b)), []byte("msg_1.1700000000."+vectorRaw)
	sum := make([]byte, 0, sha256.Size)
	b.ReportAllocs()
	for b.Loop() {
		mac.Reset()
		mac.Write(signed)
		mac.Sum(sum)
	}
}

// BenchmarkKeyedHMAC keys a new HMAC each time.
func BenchmarkKeyedHMAC(b *testing.B) {
	key, signed, sum := benchKey(b), []byte("msg_1.1700000000."+vectorRaw), make([]byte, 0, sha256.Size)
	b.ReportAllocs()
	for b.Loop() {
		mac := hmac.New(sha256.New, key)
		mac.Write(signed)
		mac.Sum(sum)
	}
}

func benchKey(b *testing.B) []byte {
	b.Helper()
	key, err := base64.StdEncoding.DecodeString(secretA[len("whsec_"):])
	if err != nil {
		b.Fatal(err)
	}
	return key
}

func BenchmarkDecodeEvent(b *testing.B) {
	body := []byte(vectorRaw)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gemini.DecodeEvent("msg_1", body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWebhookPath verifies and decodes a delivery, which is its cost before the store.
func BenchmarkWebhookPath(b *testing.B) {
	v := newVerifier(b, secretA)
	h, body := headers("msg_1", "1700000000", vectorSig), []byte(vectorRaw)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Verify(h, body); err != nil {
			b.Fatal(err)
		}
		if _, err := gemini.DecodeEvent(h.Get(gemini.HeaderID), body); err != nil {
			b.Fatal(err)
		}
	}
}
