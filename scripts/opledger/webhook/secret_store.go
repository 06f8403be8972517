package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/secret"
)

// A signing secret is stored in at most storeTries attempts, 0.5 s, 1 s and 2 s apart.
const (
	storeTries     = 4
	firstStoreWait = 500 * time.Millisecond
)

// store adds a signing secret as a new version and returns the version's name. Where secrets are not
// stored, it only checks it. Gemini returns a secret only once, so the end of ctx does not stop it.
func (a *webhookAdmin) store(ctx context.Context, text string) (version string, err error) {
	if err := checkSecret(text); err != nil || a.name == (secret.Name{}) {
		return "", err
	}
	ctx = context.WithoutCancel(ctx)
	wait := firstStoreWait
	for try := range storeTries {
		if try > 0 {
			if err := a.outside.Pause(ctx, wait); err != nil {
				return "", err
			}
			wait *= 2
		}
		if version, err = a.secrets.Add(ctx, a.name, []byte(text)); err == nil {
			return version, nil
		}
		if errors.Is(err, secret.ErrDenied) || errors.Is(err, secret.ErrNotFound) {
			break // another attempt would fail the same way
		}
	}
	return "", err
}

// checkSecret returns an error for a secret that would keep the webhook function from starting. The
// error does not contain the secret.
func checkSecret(text string) error {
	if text == "" {
		return errors.New("the answer of Gemini has no signing secret")
	}
	if _, err := gemini.NewVerifier(text); err != nil {
		return fmt.Errorf("the signing secret from Gemini cannot be used: %w", err)
	}
	return nil
}
