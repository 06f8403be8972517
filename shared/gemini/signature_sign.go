package gemini

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, signaturePrefix+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return h, nil
}
