package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// revision is the date of the form in which interactions and webhooks are asked for. The official
// SDK asks for the same.
const revision = "2026-05-20"

// Get asks for a resource, such as "batches/abc", and returns the body of a 200 to be read as it
// comes, of any size. The caller must close it; ctx must live as long as it is read.
//
// Any other answer is an *Error. An error, of Get or of the body, that wraps ErrInterrupted is of
// the connection.
func (c *Client) Get(ctx context.Context, resource string, query url.Values) (*Body, error) {
	return c.send(ctx, http.MethodGet, resource, query, nil)
}

// Call makes one request, with in as JSON unless it is nil, and reads the answer, a JSON object, into
// answer, a pointer to a struct. It holds the whole of it: one larger than MaxValueBytes is an error
// that wraps ErrTooLarge. Other errors: as Get, or about what the answer is.
func (c *Client) Call(ctx context.Context, method, resource string, query url.Values, in, answer any) error {
	var text []byte
	if in != nil {
		var err error
		if text, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encoding the request for %s: %w", resource, err)
		}
	}
	body, err := c.send(ctx, method, resource, query, text)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was read, or cannot be
	return readObject(body, answer)
}

func readObject(body io.Reader, answer any) error {
	text, err := io.ReadAll(io.LimitReader(body, MaxValueBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	case len(text) > MaxValueBytes:
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxValueBytes)
	case !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return errors.New("the answer is not a JSON object") // null would be taken for one without members
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

// send makes a request and returns the body of a 200. in is the request's body; nil: none.
func (c *Client) send(
	ctx context.Context, method, resource string, query url.Values, in []byte,
) (*Body, error) {
	address, err := url.JoinPath(c.base, version, resource)
	if err != nil {
		return nil, fmt.Errorf("making the address of %s: %w", resource, c.redactor.Error(err))
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(in))
	if err != nil {
		return nil, fmt.Errorf("making the request for %s: %w", resource, c.redactor.Error(err))
	}
	request.URL.RawQuery = query.Encode()
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(resource, "interactions") || strings.HasPrefix(resource, "webhooks") {
		request.Header.Set("Api-Revision", revision)
		request.Header.Set("Accept", "application/json")
	}
	response, err := c.do(request, resource)
	if err != nil {
		return nil, err
	}
	return &Body{ReadCloser: response.Body, Announced: response.ContentLength > 0}, nil
}

// do sends a request about a resource, with the API key: its address must be below the base URL, or have
// been held against it. It returns a 200, whose body the caller must close.
func (c *Client) do(request *http.Request, resource string) (*http.Response, error) {
	request.Header.Set("X-Goog-Api-Key", c.key)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", resource, interrupted{c.redactor.Error(err)})
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close() //nolint:errcheck // the answer has been judged by its status
	return nil, c.refusal(resource, response)
}

// A Body is that of a 200, of any size.
type Body struct {
	io.ReadCloser
	// Announced: the answer had its length in it, so that io.EOF is the end of the whole. Without it a
	// connection that breaks may end like one.
	Announced bool
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = interrupted{err}
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
