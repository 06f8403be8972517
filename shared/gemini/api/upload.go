package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// uploadResource is what the errors of an upload name: its session's URL is a secret.
const uploadResource = "upload/" + version + "/files"

// An Upload is a session of Gemini's resumable protocol: one file, which is sent in pieces. To know its
// URL is enough to write to it, so no error holds it. An Upload is not safe for concurrent use.
type Upload struct {
	// Granularity is what the size of each piece but the last must be a multiple of, in bytes; 0 where
	// Gemini does not say.
	Granularity int64

	client  *Client // whose errors have no address of the session in them either
	address *url.URL
}

// String shows neither the key nor the address.
func (u *Upload) String() string { return "api.Upload" }

// GoString is String, for %#v.
func (u *Upload) GoString() string { return u.String() }

// StartUpload starts a session for a file of size bytes. in is the request's JSON. Its address must have
// the base URL's own scheme, host and port: the API key goes there, and the content. Errors: as
// [Client.Get], or about that address.
func (c *Client) StartUpload(ctx context.Context, mimeType string, size int64, in any) (*Upload, error) {
	base, err := url.Parse(c.base)
	if err != nil {
		return nil, fmt.Errorf("making the address of an upload: %w", c.redactor.Error(err))
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encoding the start of an upload: %w", err)
	}
	address := base.JoinPath(uploadResource).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("making the start of an upload: %w", c.redactor.Error(err))
	}
	for name, value := range map[string]string{
		"Content-Type":                        "application/json",
		"X-Goog-Upload-Protocol":              "resumable",
		"X-Goog-Upload-Command":               "start",
		"X-Goog-Upload-Header-Content-Type":   mimeType,
		"X-Goog-Upload-Header-Content-Length": strconv.FormatInt(size, 10),
	} {
		request.Header.Set(name, value)
	}
	response, err := c.do(request, uploadResource)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // what is needed is in the headers
	session, err := c.session(base, response.Header.Get("X-Goog-Upload-Url"))
	if err != nil {
		return nil, fmt.Errorf("starting an upload: %w", err)
	}
	client := *c
	client.redactor = diag.ForAPIKey(c.key, c.base)
	client.redactor.Add("upload session", session.RequestURI())
	granularity, _ := strconv.ParseInt(response.Header.Get("X-Goog-Upload-Chunk-Granularity"), 10, 64)
	return &Upload{Granularity: granularity, client: &client, address: session}, nil
}

// session returns the address of a session, which is at the base URL's host and so as secure as that.
func (c *Client) session(base *url.URL, address string) (*url.URL, error) {
	session, err := url.Parse(address)
	switch {
	case err != nil || session.Hostname() == "":
		return nil, errors.New("the answer has no address of its session")
	case !strings.EqualFold(origin(session), origin(base)):
		return nil, fmt.Errorf("its session is at %s and not at the base URL's host; nothing was sent there",
			c.redactor.Quote(origin(session), maxQuoted))
	}
	session.User = base.User // a proxy's
	return session, nil
}

// origin is the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	return u.Scheme + "://" + u.Hostname() + ":" + port
}

// Send sends the next piece of the file, which begins at offset, and reports whether that made the file:
// with last it is the end of it. The answer to the last piece, a JSON object, is read into answer. A
// piece that is not taken in 2 minutes without a byte's progress is given up.
//
// An error that wraps ErrInterrupted, or is an *Error that is not Refused, leaves open how much of the piece
// has arrived: Query says. Other errors: as [Client.Call].
func (u *Upload) Send(ctx context.Context, offset int64, piece []byte, last bool, answer any) error {
	command, want := "upload", statusActive
	if last {
		command, want = "upload, finalize", statusFinal
	}
	response, err := u.send(ctx, command, offset, piece, answer)
	if err != nil {
		return err
	}
	if got := response.Get(uploadStatus); got != want {
		return fmt.Errorf("uploading at byte %d: the upload is %q, not %s", offset, got, want)
	}
	return nil
}

// Query asks how many bytes of the file have arrived. Where all have and it is final, the answer that
// Send would have read is read into answer. Errors: as [Client.Call].
func (u *Upload) Query(ctx context.Context, answer any) (received int64, final bool, err error) {
	response, err := u.send(ctx, "query", -1, nil, answer)
	if err != nil {
		return 0, false, err
	}
	switch status := response.Get(uploadStatus); status {
	case statusFinal:
		return 0, true, nil
	case statusActive:
	default:
		return 0, false, fmt.Errorf("asking how far an upload is: it is %q, not active", status)
	}
	if received, err = strconv.ParseInt(response.Get("X-Goog-Upload-Size-Received"), 10, 64); err != nil || received < 0 {
		return 0, false, errors.New("asking how far an upload is: the answer has no number of bytes")
	}
	return received, false, nil
}

// The header of an answer with the upload's status, and what it says of one that goes well.
const (
	uploadStatus = "X-Goog-Upload-Status"
	statusActive = "active"
	statusFinal  = "final"
)

// send sends a command to the session and returns the headers of the answer. Of a final upload it reads
// the answer. A negative offset is none.
func (u *Upload) send(
	ctx context.Context, command string, offset int64, piece []byte, answer any,
) (http.Header, error) {
	watch := newWatch(ctx)
	defer watch.stop()
	request, err := http.NewRequestWithContext(watch.ctx, http.MethodPost, u.address.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("making a request of an upload: %w", u.client.redactor.Error(err))
	}
	if len(piece) > 0 {
		request.Body, request.ContentLength = io.NopCloser(watch.reader(piece)), int64(len(piece))
	}
	request.Header.Set("X-Goog-Upload-Command", command)
	if offset >= 0 {
		request.Header.Set("X-Goog-Upload-Offset", strconv.FormatInt(offset, 10))
	}
	response, err := u.client.do(request, uploadResource)
	if err != nil {
		return nil, watch.cause(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read, or cannot be
	switch status := response.Header.Get(uploadStatus); status {
	case "": // the SDK takes it for no answer, too
		return nil, fmt.Errorf("uploading: %w", interrupted{errors.New("the answer has no upload status")})
	case statusFinal:
		return response.Header, watch.cause(readObject(&Body{ReadCloser: response.Body}, answer))
	default:
		return response.Header, nil
	}
}
