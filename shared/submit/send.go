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

// send calls create, once. Its error wraps ErrRefused or ErrUnanswered.
func send(ctx context.Context, mark Mark, create func(context.Context, Mark) (string, error)) (name string, err error) {
	// The SDK asserts types on what the server sent, and so panics on some answers; the operation
	// may run all the same.
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
	case refused(err):
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	default:
		return "", fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
}

// refused reports whether surely nothing runs: Gemini said that it does not take the operation, or
// was not reached.
func refused(err error) bool {
	var connection *net.OpError
	if errors.As(err, &connection) && connection.Op == "dial" {
		return true // a request that was begun is not sent again over another connection
	}
	return refusal(statusOf(err))
}

// refusal reports whether an HTTP status says that nothing was done. Not among them: the caller was
// too slow, or has gone.
func refusal(status int) bool {
	const clientClosedRequest = 499
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != clientClosedRequest
}

// statusOf returns the HTTP status of an answer that the SDK made an error of; 0 for any other
// error. Its two halves have their own errors, the half of interactions several.
func statusOf(err error) int {
	var (
		classic genai.APIError // by value: the SDK returns no pointer
		client  *apierrors.CreateInteractionClientError
		server  *apierrors.CreateInteractionServerError
		invalid *apierrors.ResponseValidationError
		other   *apierrors.APIError
	)
	var response *http.Response
	switch {
	case errors.As(err, &classic):
		return classic.Code
	case errors.As(err, &client):
		response = client.HTTPMeta.Response
	case errors.As(err, &server):
		response = server.HTTPMeta.Response
	case errors.As(err, &invalid):
		return invalid.StatusCode
	case errors.As(err, &other):
		return other.StatusCode
	}
	if response == nil {
		return 0
	}
	return response.StatusCode
}
