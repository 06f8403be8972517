package gemini

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// SignedHeader returns the headers of a delivery as Gemini sends it: id, time of the attempt in
// whole seconds, and the signature of both and of the body. The secret is one that NewVerifier
// accepts. The error wraps ErrSecret, and does not hold the secret.
func SignedHeader(secret, id string, at time.Time, body []byte) (http.Header, error) {
	key, err := decodeSecret(secret)
	if err != nil {
		return nil, fmt.Errorf("%w: it %w", ErrSecret, err)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	s := newSigner(key)
	s.sign(id, stamp, body)
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, signaturePrefix+string(s.text[:]))
	return h, nil
}
