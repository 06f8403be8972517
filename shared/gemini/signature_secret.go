package gemini

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

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
