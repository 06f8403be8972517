package results

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Open begins to read the results of a batch. result is what its record or payload says of them;
// where that names no file the batch itself is asked, which holds the results or names their file.
// The caller must close the Reader; ctx must live as long as it is read.
//
// Errors: ErrLost; ErrNone, also of an operation that is no batch; *api.Error; any other is of the
// connection and may pass.
func (c *Client) Open(ctx context.Context, key operation.Key, result operation.Result) (*Reader, error) {
	if key.Collection() != operation.Batches {
		return nil, fmt.Errorf("%w: %s is no batch", ErrNone, diag.QuoteUpTo(string(key), maxQuoted))
	}
	if result.OutputFile != "" {
		return c.openFile(ctx, key, result.OutputFile)
	}
	body, err := c.get(ctx, batchResource(key), nil)
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	items := newInline(body)
	file, found, err := items.find()
	if err == nil && found {
		return newReader(items, body), nil
	}
	_ = body.Close() // nothing of it is needed any more
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", key, err)
	case file == "":
		return nil, fmt.Errorf("%w: %s names no file and has none inline", ErrNone, key)
	default:
		return c.openFile(ctx, key, file)
	}
}

func batchResource(key operation.Key) string { return string(operation.Batches) + "/" + key.ID() }

// openFile begins to download a file. The Files API says 403 of a file that is gone, and so does
// the whole API of a key that may not use it: only where the batch can be seen with this key is the
// file lost.
func (c *Client) openFile(ctx context.Context, key operation.Key, name string) (*Reader, error) {
	id, ok := fileID(name)
	if !ok {
		return nil, fmt.Errorf("%w: %s is no file of the Gemini API", ErrNone, diag.QuoteUpTo(name, maxQuoted))
	}
	body, err := c.get(ctx, "files/"+id+":download", url.Values{"alt": {"media"}})
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	case http.StatusForbidden:
		if denied := c.denied(ctx, key); denied != nil {
			return nil, fmt.Errorf("%w (%w)", err, denied)
		}
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	return newReader(newLines(body), body), nil
}

// denied returns why the batch cannot be seen with this key; nil where it can, or is gone as well.
func (c *Client) denied(ctx context.Context, key operation.Key) error {
	body, err := c.get(ctx, batchResource(key), nil)
	if err == nil {
		_ = body.Close() // that it came is all that is asked
		return nil
	}
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return nil
	}
	return err
}

// fileID finds the id in a file's name, or in the address it is downloaded from.
func fileID(name string) (string, bool) {
	name, _, _ = strings.Cut(name, "?")
	at := strings.LastIndex("/"+name, "/files/")
	if at < 0 {
		return "", false
	}
	id := strings.TrimSuffix(name[at+len("files/"):], ":download")
	ok := id != "" && id != "." && id != ".." && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || strings.ContainsRune("/\\%:#", r) })
	return id, ok
}
