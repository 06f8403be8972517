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

// The headers of a signed delivery, as Standard Webhooks names them and net/http spells them.
const (
	// HeaderID names the delivery: the same on every attempt to deliver it, so that a repeat is
	// recognised [W4].
	HeaderID = "Webhook-Id"
	// HeaderTimestamp is when the attempt was made, in Unix seconds.
	HeaderTimestamp = "Webhook-Timestamp"
	// HeaderSignature holds one or more signatures, separated by spaces.
	HeaderSignature = "Webhook-Signature"
)

// The errors of a verifier.
var (
	// ErrNoSecret says that a verifier was to be made of no secret at all: the webhook does not
	// exist yet.
	ErrNoSecret = errors.New("no webhook secret")
	// ErrSecret is wrapped by the error about a secret that cannot be used. It never holds the
	// secret.
	ErrSecret = errors.New("webhook secret is malformed")
	// ErrSignature says that no signature fits. Missing headers, an unreadable timestamp and a
	// wrong signature are the same error, so that nobody learns from the answer how far a forgery
	// came.
	ErrSignature = errors.New("webhook signature does not fit")
)

const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
	// minKeyBytes is the least a key may have. Standard Webhooks recommends 24 to 64; the bound is
	// lower so that it refuses what is surely a mistake, first of all the empty key, with which
	// anybody could sign.
	minKeyBytes = 16
	// maxTimestampDigits holds every time until the year 33658, so that no later arithmetic can
	// overflow.
	maxTimestampDigits = 12
	// signatureLen is the length of a signature in base64.
	signatureLen = (sha256.Size + 2) / 3 * 4
	maxKeptHead  = 4 << 10
)

// A Verifier checks the signatures of static webhooks against one or more secrets, several while a
// secret is being rotated [G3]. It is safe for concurrent use and never prints its keys.
type Verifier struct{ keys []*signingKey }

// A signingKey lends out HMACs that are already keyed: keying one costs two blocks of SHA-256 and a
// few allocations.
type signingKey struct{ pool sync.Pool }

// A signer is an HMAC with the buffers that one signature needs.
type signer struct {
	mac  hash.Hash
	head []byte
	sum  [sha256.Size]byte
	text [signatureLen]byte
}

// NewVerifier returns a verifier that accepts what any of the secrets signed. A secret is "whsec_"
// and the standard base64 of the HMAC key, which must have at least 16 bytes; white space around it
// is ignored. The error is ErrNoSecret for no secrets, and otherwise wraps ErrSecret and names
// every secret that cannot be used by its place in the arguments, counted from 1, without repeating
// any of it.
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

// decodeSecret returns the HMAC key in a secret. Its errors complete the sentence "secret 1 of 2
// …".
func decodeSecret(secret string) ([]byte, error) {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return nil, errors.New("is empty")
	}
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, errors.New("does not begin with " + secretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("is not base64 after %s: %w", secretPrefix, err) // the error holds an offset, no text
	}
	if len(key) < minKeyBytes {
		return nil, fmt.Errorf("has a key of %d bytes, less than %d", len(key), minKeyBytes)
	}
	return key, nil
}

func newSigningKey(key []byte) *signingKey {
	return &signingKey{pool: sync.Pool{New: func() any { return &signer{mac: hmac.New(sha256.New, key)} }}}
}

// Verify returns nil if the body, as received and before anything parsed it [W1], carries a
// signature that fits; otherwise ErrSignature, unwrapped. What is signed is
// "{id}.{timestamp}.{body}" with both headers as they were received: a timestamp of "01700000000"
// is signed as such. Whether that time is near enough is the caller's to check [W2].
//
// Every key is tried on every signature whatever fitted before, and each comparison takes the same
// time, so that the time Verify takes says nothing about the keys.
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

// ParseTimestamp reads the value of HeaderTimestamp: Unix seconds, digits only. Whatever else the
// text may mean, it is no time that Gemini signed.
func ParseTimestamp(text string) (time.Time, bool) {
	if text == "" || len(text) > maxTimestampDigits || strings.Trim(text, "0123456789") != "" {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// signed reports whether any signature in the headers is k's over these contents.
func (k *signingKey) signed(id, stamp string, body []byte, headers []string) bool {
	s := k.pool.Get().(*signer)
	defer k.putBack(s)
	s.mac.Reset()
	s.head = append(append(append(append(s.head[:0], id...), '.'), stamp...), '.')
	s.mac.Write(s.head)
	s.mac.Write(body)
	base64.StdEncoding.Encode(s.text[:], s.mac.Sum(s.sum[:0]))

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

// putBack keeps s for the next call, unless a sender's headers were so long that keeping their
// buffer would cost more than making a new one.
func (k *signingKey) putBack(s *signer) {
	if cap(s.head) <= maxKeptHead {
		k.pool.Put(s)
	}
}

// equal compares in a time that depends on the length of signature only, which is no secret. The
// texts are compared, not what they decode to: base64 has several spellings of some bytes, and only
// the sender's is a signature.
func (s *signer) equal(signature string) bool {
	if len(signature) != len(s.text) {
		return false
	}
	s.head = append(s.head[:0], signature...)
	return hmac.Equal(s.head, s.text[:])
}

// String says how many keys v has, and nothing about them, however v is printed.
func (v *Verifier) String() string { return fmt.Sprintf("gemini.Verifier(%d keys)", len(v.keys)) }

// GoString is String, for %#v.
func (v *Verifier) GoString() string { return v.String() }
