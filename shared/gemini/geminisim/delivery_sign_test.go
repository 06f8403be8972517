package geminisim_test

import (
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

const (
	testSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	testBody   = `{"type":"batch.succeeded","version":"v1","timestamp":"2026-01-22T12:00:00Z",` +
		`"data":{"id":"batches/abc123"}}`
)

func TestSignVector(t *testing.T) {
	t.Parallel()
	got := geminisim.Sign(testSecret, "msg_1", time.Unix(1700000000, 0), []byte(testBody))
	if want := "v1,Ji0fMZWrXihCWK0BcPBgtjRuughdnVgxaqEe7gDrUN8="; got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}

func TestSignAgreesWithStandardWebhooks(t *testing.T) {
	t.Parallel()
	wh, err := standardwebhooks.NewWebhook(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1767225600, 0)
	want, err := wh.Sign("msg_2", at, []byte("any bytes: \x00\xff"))
	if err != nil {
		t.Fatal(err)
	}
	if got := geminisim.Sign(testSecret, "msg_2", at, []byte("any bytes: \x00\xff")); got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}

func TestSignRefusesBadSecrets(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "whsec_", "whsec_!", "MDEyMzQ1Njc4OWFiY2RlZg=="} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Sign with the secret %q did not panic", secret)
				}
			}()
			geminisim.Sign(secret, "msg_1", time.Unix(0, 0), nil)
		}()
	}
}
