package batches

import (
	"context"
	"errors"
	"net/http"

	"github.com/opledger/opledger/shared/gemini/api"
)

// DeleteFile deletes an uploaded file, so that it does not count in the project's storage for the rest of
// its 48 hours. Nil: it is gone, also where Gemini says that there is none, which it says with a 403, too.
// The call may be repeated. Errors: as [Client.Get]'s of the connection or an *[api.Error]; or about the
// name, before anything is sent.
func (c *Client) DeleteFile(ctx context.Context, name string) error {
	if err := checkFile(name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err := c.api.Call(ctx, http.MethodDelete, name, nil, nil, &struct{}{})
	if answer, ok := errors.AsType[*api.Error](err); ok &&
		(answer.Status == http.StatusNotFound || answer.Status == http.StatusForbidden) {
		return nil
	}
	return err
}
