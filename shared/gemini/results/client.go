package results

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// Options says how to reach Gemini. Set neither its Timeout nor that of its HTTP: a download may
// take as long as the context allows. It ends after a minute without a byte.
type Options = api.Options

// A Client fetches results. It is safe for concurrent use, never repeats a failed request, and
// changes nothing at Gemini.
//
// It is for a whole process: of items over LargeItemBytes all its readers together hold a sixth of
// GOMEMLIMIT at a time, and others wait.
type Client struct {
	api  *api.Client
	room *room
	// jobs opens the results of a job; nil: they cannot be read.
	jobs func(ctx context.Context, place string) (io.ReadCloser, error)
}

// New returns a client. It sends nothing. Errors: as [api.New]; they hold neither the key nor the
// address.
func New(o Options) (*Client, error) {
	base, err := api.New(o)
	if err != nil {
		return nil, fmt.Errorf("making a client for results: %w", err)
	}
	return &Client{api: base, room: newRoom(memoryLimit())}, nil
}

// WithJobs returns the client, which shares its memory, with a way to open the results of jobs. place is where
// a job's record says that they are. Gemini knows nothing of them.
func (c *Client) WithJobs(open func(ctx context.Context, place string) (io.ReadCloser, error)) *Client {
	with := *c
	with.jobs = open
	return &with
}

// openJob starts to read the results of a job.
func (c *Client) openJob(ctx context.Context, key operation.Key, result operation.Result) (*Reader, error) {
	if c.jobs == nil || result.OutputFile == "" {
		return nil, fmt.Errorf("%w: %s is a job without results that can be read here", ErrNone, key)
	}
	body, err := c.jobs(ctx, result.OutputFile)
	if err != nil {
		return nil, fmt.Errorf("opening the results of %s: %w", key, err)
	}
	g := &guest{body: body, ctx: ctx, room: c.room}
	g.source = newLines(g, true)
	return newReader(g, g), nil
}

// get is api.Client.Get with a body that fails when it stalls. The caller must close it.
func (c *Client) get(ctx context.Context, resource string, query url.Values) (*stallable, error) {
	ctx, end := context.WithCancelCause(ctx)
	// The answer of a refusal is read before Get returns, after at most a minute for its headers.
	timer := time.AfterFunc(2*stallTimeout, func() { end(errStalled) })
	body, err := c.api.Get(ctx, resource, query)
	timer.Stop()
	if err != nil {
		end(nil)
		return nil, err
	}
	return &stallable{Body: body, ctx: ctx, end: end}, nil
}
