package batches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
)

// ErrGone is wrapped by the error for a file or a cache that Gemini does not have, or that is another project's.
var ErrGone = errors.New("it is not at Gemini any more")

var (
	// referenceName is the name of what a request may name at Gemini.
	referenceName = diag.Pattern(`^(files|cachedContents)/[\w-]+$`)
	// aboutReference is what Gemini says of one that it does not have, also with a 403: "You do not have permission to
	// access the File abc or it may not exist.", "CachedContent not found (or permission denied)".
	aboutReference = diag.Pattern(`(?i)\bfile\b|\bcached ?content`)
)

// Expires asks for a file, as files/…, or a cache, as cachedContents/…, and returns when it expires; zero where Gemini
// does not say, as of a registered object, or refuses to, as of a file whose name is too long. Errors: one that wraps
// ErrGone; else as [Client.Get]'s of the connection, an *[api.Error], or about the name or the answer, after which it
// is not known whether Gemini has it.
func (c *Client) Expires(ctx context.Context, name string) (time.Time, error) {
	if !referenceName().MatchString(name) {
		return time.Time{}, fmt.Errorf("%w: %s is no file or cache at Gemini", errRequest, diag.QuoteUpTo(name, maxQuoted))
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var answer struct {
		Name           string `json:"name"`
		ExpirationTime string `json:"expirationTime"` // of a file
		ExpireTime     string `json:"expireTime"`     // of a cache
	}
	err := c.api.Call(ctx, http.MethodGet, name, nil, nil, &answer)
	if said, ok := errors.AsType[*api.Error](err); ok {
		switch {
		case said.Status == http.StatusForbidden && aboutReference().MatchString(said.Message),
			said.Status == http.StatusNotFound && said.Canonical == "NOT_FOUND":
			return time.Time{}, fmt.Errorf("%w: %w", ErrGone, err)
		case said.Status == http.StatusBadRequest && !said.InvalidKey && !AboutProject(said.Message):
			return time.Time{}, nil
		}
	}
	if err == nil && answer.Name != name {
		err = fmt.Errorf("the answer about %s names %s", name,
			diag.QuoteUpTo(c.api.Redact(answer.Name, maxQuoted), maxQuoted))
	}
	return gemini.ParseTime(cmp.Or(answer.ExpirationTime, answer.ExpireTime)), err
}
