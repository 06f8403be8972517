package http

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/gemini"
)

// A Signer signs the requests of Do by Standard Webhooks (https://www.standardwebhooks.com), so
// that a receiver can verify their sender. It is safe for concurrent use and never prints its keys.
type Signer struct {
	keys []*standardwebhooks.Webhook
	late *late[*Signer] // nil: keys are all
}

// LateSigner returns a signer that is loaded at its first use, so that a process can start without
// its secrets. Until load has succeeded each attempt fails with load's error and is retried;
// nothing is sent unsigned. load is called at most once in 10 s.
func LateSigner(load func(context.Context) (*Signer, error)) *Signer {
	return &Signer{late: &late[*Signer]{load: load}}
}

// NewSigner returns a signer that signs with each of the secrets, "whsec_" and base64 of at least
// 16 bytes. Several are for a receiver that changes from one to the next. The errors are those of
// gemini.NewVerifier, which never hold a secret; no secret at all is one of them.
func NewSigner(secrets ...string) (*Signer, error) {
	// The library accepts an empty key, with which everyone could sign.
	if _, err := gemini.NewVerifier(secrets...); err != nil {
		return nil, err
	}
	s := &Signer{}
	for _, secret := range secrets {
		key, err := standardwebhooks.NewWebhook(strings.TrimSpace(secret))
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// loaded returns the keys, which a LateSigner may have to load first.
func (s *Signer) loaded(ctx context.Context, now time.Time) ([]*standardwebhooks.Webhook, error) {
	if s.late == nil {
		return s.keys, nil
	}
	signer, err := s.late.get(ctx, now)
	if err != nil {
		return nil, err
	}
	return signer.keys, nil
}

// sign adds the headers of an attempt at the time now.
func (s *Signer) sign(ctx context.Context, h http.Header, idempotencyKey string, now time.Time, body []byte) error {
	keys, err := s.loaded(ctx, now)
	if err != nil {
		return err
	}
	id := webhookID(idempotencyKey)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		if signatures[i], err = key.Sign(id, now, body); err != nil {
			return fmt.Errorf("signing the request: %w", err)
		}
	}
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}

// webhookID returns the same id for every attempt with the same key. It is not the key itself:
// others choose the name of an operation, and an id with a full stop would make the signature
// ambiguous.
func webhookID(idempotencyKey string) string {
	sum := sha256.Sum256([]byte(idempotencyKey))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// String returns how many keys s has, and nothing about them, however s is printed.
func (s *Signer) String() string { return fmt.Sprintf("effect.Signer(%d keys)", len(s.keys)) }

// GoString is String, for %#v.
func (s *Signer) GoString() string { return s.String() }
