package secret

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/redact"
)

// What may be wrong with a secret. Trying again helps with none of them until the operator has done
// what the error says.
var (
	// ErrNone says that the secret has no enabled version: none was stored yet, or all are
	// disabled.
	ErrNone = errors.New("has no enabled version")
	// ErrNotFound says that the secret, or the version, is not there.
	ErrNotFound = errors.New("is not there")
	// ErrDenied says that Secret Manager does not let the caller do this.
	ErrDenied = errors.New("access is denied")
	// ErrCorrupt says that what arrived is not what was stored, by its checksum. Here trying again
	// may help.
	ErrCorrupt = errors.New("was damaged on the way")
)

// maxErrorText bounds, in bytes, what an error repeats of Secret Manager's words.
const maxErrorText = 512

// explain makes an error of what Secret Manager answered: what was done, to what, and what to do.
// need says which role lets the caller do it. Other errors than the sentinels are worth another
// try.
func explain(ctx context.Context, doing string, what fmt.Stringer, need string, err error) error {
	if ctx.Err() != nil { // the caller's end, not Secret Manager's
		return fmt.Errorf("%s %s: %w", doing, what, ctx.Err())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s: Secret Manager gave no answer in time; try again", doing, what)
	}
	answer := status.Convert(err)
	said := new(redact.Redactor).Cut(answer.Message(), maxErrorText) // a request to store a secret carries it
	switch answer.Code() {
	case codes.NotFound:
		return fmt.Errorf("%s %s: the secret %w; make it with gcloud secrets create, or correct its name (Secret Manager: %s)",
			doing, what, ErrNotFound, said)
	case codes.PermissionDenied, codes.Unauthenticated:
		return fmt.Errorf("%s %s: %w; grant %s (Secret Manager: %s)", doing, what, ErrDenied, need, said)
	default:
		return fmt.Errorf("%s %s: Secret Manager says %s: %s; try again", doing, what, answer.Code(), said)
	}
}
