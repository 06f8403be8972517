package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/secret"
)

// storeTries is how often a signing secret is stored before that is given up; between two tries
// twice as much time passes as before.
const storeTries = 4

const firstStoreWait = 500 * time.Millisecond

// store keeps a signing secret as a new version and returns the version's name. Gemini tells a
// secret once, so the end of ctx does not end the storing.
func (a *webhookAdmin) store(ctx context.Context, text string) (version string, err error) {
	ctx = context.WithoutCancel(ctx)
	wait := firstStoreWait
	for try := range storeTries {
		if try > 0 {
			if err := a.wait(ctx, wait); err != nil {
				return "", err
			}
			wait *= 2
		}
		if version, err = a.secrets.Add(ctx, a.name, []byte(text)); err == nil {
			return version, nil
		}
		if errors.Is(err, secret.ErrDenied) || errors.Is(err, secret.ErrNotFound) {
			break // it was allowed a moment ago, and will not be so in the next
		}
	}
	return "", err
}

func (a *webhookAdmin) wait(ctx context.Context, how time.Duration) error {
	if a.outside.wait != nil {
		return a.outside.wait(ctx, how)
	}
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkSecret returns an error for what the webhook function could not verify with; stored, it
// would keep the function from starting. The error does not hold it.
func checkSecret(text string) error {
	if text == "" {
		return errors.New("no signing secret came from Gemini")
	}
	if _, err := gemini.NewVerifier(text); err != nil {
		return fmt.Errorf("the signing secret from Gemini cannot be used: %w", err)
	}
	return nil
}
