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

// Open starts to read the results of a batch, or of a job: see WithJobs. result is what its record or
// payload says of them. Where it names no file, Open fetches the batch, which holds the results or names
// their file. The caller must close the Reader, and must not cancel ctx before.
//
// Errors: ErrNotFound; ErrNone, also for an operation that is no batch; *api.Error; any other is of the
// connection and transient.
func (c *Client) Open(ctx context.Context, key operation.Key, result operation.Result) (*Reader, error) {
	if key.Collection() == operation.Jobs {
		return c.openJob(ctx, key, result)
	}
	if key.Collection() != operation.Batches {
		return nil, fmt.Errorf("%w: %s is not a batch", ErrNone, diag.QuoteUpTo(string(key), maxQuoted))
	}
	if result.OutputFile != "" {
		return c.openFile(ctx, key, result.OutputFile)
	}
	body, err := c.get(ctx, batchResource(key), nil)
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	g := &guest{body: body, ctx: ctx, room: c.room}
	items := newInline(g)
	g.source = items
	file, found, err := items.find()
	if found {
		return newReader(g, g), nil
	}
	_ = g.Close() // no more of it is needed
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", key, err)
	case file == "" && !items.done: // a state before the end, or an answer that says nothing
		return nil, fmt.Errorf("reading %s: Gemini does not say that it is done", key)
	case file == "" && result.Inline:
		return nil, fmt.Errorf("%w: %s had them inline", ErrNotFound, key)
	case file == "":
		return nil, fmt.Errorf("%w: %s names no file and has none inline", ErrNone, key)
	default:
		return c.openFile(ctx, key, file)
	}
}

func batchResource(key operation.Key) string { return string(operation.Batches) + "/" + key.ID() }

// openFile starts to download a file. The Files API answers 403 for a file that is gone, and the
// whole API does for a key without access. So the file is lost only if the key can read the batch.
func (c *Client) openFile(ctx context.Context, key operation.Key, name string) (*Reader, error) {
	id, ok := fileID(name)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not a file of the Gemini API", ErrNone, diag.QuoteUpTo(name, maxQuoted))
	}
	body, err := c.get(ctx, "files/"+id+":download", url.Values{"alt": {"media"}})
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	case http.StatusForbidden:
		if denied := c.denied(ctx, key); denied != nil {
			return nil, fmt.Errorf("%w (%w)", err, denied)
		}
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	g := &guest{body: body, ctx: ctx, room: c.room}
	g.source = newLines(g, body.Announced)
	return newReader(g, g), nil
}

// denied returns why the key cannot read the batch; nil if it can, or if the batch is gone as well.
func (c *Client) denied(ctx context.Context, key operation.Key) error {
	body, err := c.get(ctx, batchResource(key), nil)
	if err == nil {
		_ = body.Close() // only its status matters
		return nil
	}
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return nil
	}
	return err
}

// fileID returns the id in a file's name or download address.
func fileID(name string) (string, bool) {
	name, _, _ = strings.Cut(name, "?")
	at := strings.LastIndex("/"+name, "/files/")
	if at < 0 {
		return "", false
	}
	id := strings.TrimSuffix(name[at+len("files/"):], ":download")
	ok := id != "" && id != "." && id != ".." &&
		!strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || strings.ContainsRune("/\\%:#", r) })
	return id, ok
}
