package submit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/apierrors"
)

// send calls create once. Its error wraps ErrRefused or ErrUnanswered.
func send(ctx context.Context, mark Mark, create func(context.Context, Mark) (string, error)) (name string, err error) {
	// The SDK asserts the types of what the server sent, and panics on some answers. The operation
	// may run.
	defer func() {
		if problem := recover(); problem != nil {
			name, err = "", fmt.Errorf("%w: the answer could not be read: %v", ErrUnanswered, problem)
		}
	}()
	name, err = create(ctx, mark)
	switch {
	case err == nil && name == "":
		return "", fmt.Errorf("%w: the answer has no name", ErrUnanswered)
	case err == nil:
		return name, nil
	case errors.Is(err, ErrRefused):
		return "", err
	default:
		return "", fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
}

// RequestError returns the error of the request that creates an operation as the create of Submit
// returns it. It wraps ErrRefused where nothing runs for certain: where Gemini refused, or was not
// reached. err is the SDK's. Return the error of any other request without it, although it looks the
// same: what a look-up does not find may run.
func RequestError(err error) error {
	connection, ok := errors.AsType[*net.OpError](err)
	unsent := ok && connection.Op == "dial" // net/http does not resend a POST that it began to send
	if !unsent && !refusal(statusOf(err)) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// refusal reports whether an HTTP status means that nothing was done. 408 and 499 do not: the
// server may have started.
func refusal(status int) bool {
	const clientClosedRequest = 499
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != clientClosedRequest
}

// statusOf returns the HTTP status in an error of the SDK that may be a refusal; 0 for any other error.
// The two halves of the SDK have their own errors, and that of interactions has several.
func statusOf(err error) int {
	var (
		classic genai.APIError // by value: the SDK returns no pointer
		client  *apierrors.CreateInteractionClientError
		invalid *apierrors.ResponseValidationError
		other   *apierrors.APIError
	)
	switch {
	case errors.As(err, &classic):
		return classic.Code
	case errors.As(err, &client) && client.HTTPMeta.Response != nil:
		return client.HTTPMeta.Response.StatusCode
	case errors.As(err, &invalid):
		return invalid.StatusCode
	case errors.As(err, &other):
		return other.StatusCode
	}
	return 0
}
