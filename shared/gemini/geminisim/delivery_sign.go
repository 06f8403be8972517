package geminisim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Names of the headers of a delivery (documented; Standard Webhooks).
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const secretPrefix = "whsec_"

// Sign returns one entry of the webhook-signature header, "v1," and the base64 of HMAC-SHA256 over
// "id.timestamp.body", the timestamp in Unix seconds (documented). It is a helper for tests and
// panics on a secret that is not "whsec_" and the standard base64 of at least one byte.
func Sign(secret, id string, timestamp time.Time, body []byte) string {
	sig, err := sign(secret, id, unix(timestamp), body)
	if err != nil {
		panic(err)
	}
	return sig
}

func sign(secret, id, timestamp string, body []byte) (string, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return "", errors.New("geminisim: sign: the secret does not begin with " + secretPrefix)
	}
	// The key is the decoded base64. Using its text is a common mistake of receivers.
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("geminisim: sign: the secret is not standard base64: %w", err)
	}
	if len(key) == 0 {
		return "", errors.New("geminisim: sign: the secret is empty")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// signAll signs with each secret and separates the signatures by spaces, as Standard Webhooks
// requires during a rotation. Gemini was never observed to send two.
func signAll(secrets []string, id, timestamp string, body []byte) (string, error) {
	sigs := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		sig, err := sign(secret, id, timestamp, body)
		if err != nil {
			return "", err
		}
		sigs = append(sigs, sig)
	}
	return strings.Join(sigs, " "), nil
}

// newSecret returns a signing secret of 32 bytes. It is as predictable as the seed, and fit for a
// simulator only.
func newSecret(r *rand.Rand) string {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(r.UintN(256))
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// truncated returns a secret as it is listed: its last four characters (documented).
func truncated(secret string) string {
	return secretPrefix + "..." + secret[max(len(secretPrefix), len(secret)-4):]
}
