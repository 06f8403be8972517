package secret

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/diag"
)

// The errors of a secret. A retry fails until the operator does what the error says, except for
// ErrCorrupt.
var (
	// ErrNone says that the secret has no enabled version.
	ErrNone = errors.New("has no enabled version")
	// ErrNotEnabled says that the last version is disabled or destroyed.
	ErrNotEnabled = errors.New("is not enabled")
	// ErrNotFound says that the secret or the version does not exist.
	ErrNotFound = errors.New("is not there")
	// ErrDenied says that Secret Manager does not let the caller do this.
	ErrDenied = errors.New("access is denied")
	// ErrCorrupt says that the checksum of the data is wrong. A retry may help.
	ErrCorrupt = errors.New("was damaged on the way")
)

// maxErrorText bounds, in bytes, what an error repeats of Secret Manager's words.
const maxErrorText = 512

// explain turns an answer of Secret Manager into an error that says what was attempted, on what, which
// is a Name or the name of a version, and what to do. need is the role that allows it. An error that
// wraps no sentinel may be transient.
func explain(ctx context.Context, doing string, what any, need string, err error) error {
	if ctx.Err() != nil { // ended by the caller, not by Secret Manager
		return fmt.Errorf("%s %s: %w", doing, what, ctx.Err())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s: Secret Manager gave no answer in time; try again", doing, what)
	}
	answer := status.Convert(err)
	said := new(diag.Redactor).Cut(answer.Message(), maxErrorText) // a request to store a secret carries it
	switch answer.Code() {
	case codes.NotFound:
		return fmt.Errorf(
			"%s %s: the secret %w; make it with gcloud secrets create, or correct its name (Secret Manager: %s)", doing, what,
			ErrNotFound, said,
		)
	case codes.PermissionDenied, codes.Unauthenticated:
		return fmt.Errorf("%s %s: %w; grant %s (Secret Manager: %s)", doing, what, ErrDenied, need, said)
	default:
		return fmt.Errorf("%s %s: Secret Manager says %s: %s; try again", doing, what, answer.Code(), said)
	}
}
