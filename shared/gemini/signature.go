package gemini

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The headers of a signed delivery, as Standard Webhooks defines them, in the spelling of net/http.
const (
	// HeaderID identifies the delivery. It is the same on every attempt, so that a redelivery is
	// recognised [W4].
	HeaderID = "Webhook-Id"
	// HeaderTimestamp is when the attempt was made, in Unix seconds.
	HeaderTimestamp = "Webhook-Timestamp"
	// HeaderSignature holds one or more signatures, separated by spaces.
	HeaderSignature = "Webhook-Signature"
)

// The errors of a verifier.
var (
	// ErrNoSecret says that there is no secret to verify with: the webhook does not exist yet.
	ErrNoSecret = errors.New("no webhook secret")
	// ErrSecret is wrapped by an error about a malformed secret. The error never holds the secret.
	ErrSecret = errors.New("webhook secret is malformed")
	// ErrSignature says that no signature is valid. Missing headers, an unreadable timestamp and a
	// wrong signature give the same error, so that the answer tells a forger nothing.
	ErrSignature = errors.New("webhook signature does not fit")
)

const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
	// minKeyBytes is the shortest key that is accepted. Standard Webhooks recommends 24 to 64
	// bytes. This bound only refuses certain mistakes, above all the empty key, with which anyone
	// could sign.
	minKeyBytes = 16
	// maxTimestampDigits is enough until the year 33658, and rules out an overflow in time
	// arithmetic.
	maxTimestampDigits = 12
	// signatureLen is the length of a signature in base64.
	signatureLen = (sha256.Size + 2) / 3 * 4
	maxKeptHead  = 4 << 10
)

// A Verifier checks the signatures of static webhooks against one or more secrets, several while a
// secret is being rotated [G3]. It is safe for concurrent use and never prints its keys.
type Verifier struct{ keys []*signingKey }

// A signingKey pools HMACs that are already keyed. Keying one costs two blocks of SHA-256 and a few
// allocations.
type signingKey struct{ pool sync.Pool }

// A signer is an HMAC with the buffers that one signature needs.
type signer struct {
	mac  hash.Hash
	head []byte
	sum  [sha256.Size]byte
	text [signatureLen]byte
}

// NewVerifier returns a verifier that accepts what any of the secrets signed. A secret is "whsec_"
// and the standard base64 of an HMAC key of at least 16 bytes; white space around it is ignored.
// The error is ErrNoSecret for no secrets. Otherwise it wraps ErrSecret and lists every malformed
// secret by its position, counted from 1, without repeating any of it.
func NewVerifier(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, ErrNoSecret
	}
	v := &Verifier{}
	var problems []error
	for i, secret := range secrets {
		key, err := decodeSecret(secret)
		if err != nil {
			problems = append(problems, fmt.Errorf("%w: secret %d of %d %w", ErrSecret, i+1, len(secrets), err))
			continue
		}
		v.keys = append(v.keys, newSigningKey(key))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return v, nil
}

func newSigningKey(key []byte) *signingKey {
	return &signingKey{pool: sync.Pool{New: func() any { return newSigner(key) }}}
}

func newSigner(key []byte) *signer { return &signer{mac: hmac.New(sha256.New, key)} }

// sign makes text the signature of these contents.
func (s *signer) sign(id, stamp string, body []byte) {
	s.mac.Reset()
	s.head = append(append(append(append(s.head[:0], id...), '.'), stamp...), '.')
	s.mac.Write(s.head)
	s.mac.Write(body)
	base64.StdEncoding.Encode(s.text[:], s.mac.Sum(s.sum[:0]))
}

// Verify returns nil if the headers carry a valid signature of the body, else ErrSignature,
// unwrapped. The body must be the bytes as received, before anything parsed them [W1]. What is
// signed is "{id}.{timestamp}.{body}" with both headers as received: a timestamp of "01700000000"
// keeps its zero. The caller must check that the time is within its tolerance [W2].
//
// Every key is tried on every signature, and each comparison takes constant time, so that the
// duration of Verify tells nothing about the keys.
func (v *Verifier) Verify(h http.Header, body []byte) error {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	if _, readable := ParseTimestamp(stamp); id == "" || !readable {
		return ErrSignature
	}
	fits := false
	for _, key := range v.keys {
		if key.signed(id, stamp, body, h.Values(HeaderSignature)) {
			fits = true
		}
	}
	if !fits {
		return ErrSignature
	}
	return nil
}

// ParseTimestamp reads the value of HeaderTimestamp: Unix seconds, digits only. It reports false
// for any other text.
func ParseTimestamp(text string) (time.Time, bool) {
	if text == "" || len(text) > maxTimestampDigits || strings.Trim(text, "0123456789") != "" {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// signed reports whether any signature in the headers is the one that k makes of these contents.
func (k *signingKey) signed(id, stamp string, body []byte, headers []string) bool {
	s := k.pool.Get().(*signer)
	defer k.putBack(s)
	s.sign(id, stamp, body)
	fits := false
	for _, header := range headers {
		for more := true; more; {
			var entry string
			entry, header, more = strings.Cut(header, " ")
			if signature, ok := strings.CutPrefix(entry, signaturePrefix); ok && s.equal(signature) {
				fits = true
			}
		}
	}
	return fits
}

// putBack keeps s for the next call, unless long headers have grown its buffer beyond 4 KiB.
func (k *signingKey) putBack(s *signer) {
	if cap(s.head) <= maxKeptHead {
		k.pool.Put(s)
	}
}

// equal compares in a time that depends only on the length of signature, which is public. It
// compares the texts, not the decoded bytes: base64 has several spellings of the same bytes, and
// only one is valid.
func (s *signer) equal(signature string) bool {
	if len(signature) != len(s.text) {
		return false
	}
	s.head = append(s.head[:0], signature...)
	return hmac.Equal(s.head, s.text[:])
}

// String returns the number of keys. It never shows a key.
func (v *Verifier) String() string { return fmt.Sprintf("gemini.Verifier(%d keys)", len(v.keys)) }

// GoString is String, for %#v.
func (v *Verifier) GoString() string { return v.String() }
