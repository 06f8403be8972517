package gemini_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

// TestSignedHeader: the signature is that of the test vector, whatever the zone and the fraction of
// the time; a malformed secret is not repeated.
func TestSignedHeader(t *testing.T) {
	t.Parallel()
	body := []byte(`{"type":"batch.succeeded","version":"v1","timestamp":"2026-01-22T12:00:00Z",` +
		`"data":{"id":"batches/abc123"}}`)
	at := time.Unix(1700000000, 999).In(time.FixedZone("", 3600))
	h, err := gemini.SignedHeader(" whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", "msg_1", at, body)
	if err != nil || h.Get("webhook-signature") != "v1,Ji0fMZWrXihCWK0BcPBgtjRuughdnVgxaqEe7gDrUN8=" ||
		h.Get("webhook-id") != "msg_1" || h.Get("webhook-timestamp") != "1700000000" {
		t.Errorf("%v, %v", h, err)
	}
	for _, secret := range []string{"", "whsec_", "hunter2", "whsec_hunter2", "whsec_aHVudGVyMg=="} {
		_, err := gemini.SignedHeader(secret, "msg_1", at, body)
		if !errors.Is(err, gemini.ErrSecret) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}
