package trust_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkStatic: compare it with BenchmarkBareHMAC, an HMAC over the same bytes.
func BenchmarkStatic(b *testing.B) { benchmarkGate(b, headers(start, sign(secretA, start))) }

// BenchmarkToken: compare it with BenchmarkBareRSA, one verification of a hash.
func BenchmarkToken(b *testing.B) { benchmarkGate(b, headers(start, goodToken(start))) }

func benchmarkGate(b *testing.B, h http.Header) {
	w := newWorld(b)
	raw := []byte(body)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.gate.Verify(b.Context(), h, whole(raw), start); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkForgedToken: a token that names a published key, the most expensive forgery.
func BenchmarkForgedToken(b *testing.B) {
	w := newWorld(b)
	h, raw := headers(start, rs256(forgersKey(), goodHeader, goodClaims(start, nil))), []byte(body)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.gate.Verify(b.Context(), h, whole(raw), start); err == nil {
			b.Fatal("W1: accepted")
		}
	}
}

func BenchmarkBareHMAC(b *testing.B) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secretA, "whsec_"))
	if err != nil {
		b.Fatal(err)
	}
	mac, signed, sum := hmac.New(sha256.New, key), []byte("msg_1.1700000000."+body), make([]byte, 0, sha256.Size)
	b.ReportAllocs()
	for b.Loop() {
		mac.Reset()
		mac.Write(signed)
		mac.Sum(sum)
	}
}

func BenchmarkBareRSA(b *testing.B) {
	digest := sha256.Sum256([]byte(body))
	signature, err := rsa.SignPKCS1v15(nil, publishedKey(), crypto.SHA256, digest[:])
	if err != nil {
		b.Fatal(err)
	}
	public := &publishedKey().PublicKey
	b.ReportAllocs()
	for b.Loop() {
		if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature); err != nil {
			b.Fatal(err)
		}
	}
}
