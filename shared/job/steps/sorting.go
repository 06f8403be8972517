package steps

import (
	"context"
	"encoding/json"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// A sorting writes what becomes of a part's requests: one that ended otherwise than done gets a line of the results and
// one of the failed, and the rest is copied for another part. It must be ended by close or abort.
type sorting struct{ results, failed, rest *files.Writer }

// newSorting returns a sorting whose objects have the names that name gives them, by their kind.
func newSorting(ctx context.Context, s storage.Storage, name func(kind string) string) sorting {
	writer := func(kind string) *files.Writer { return files.NewWriter(ctx, s, name(kind)) }
	return sorting{results: writer(files.Results), failed: writer(files.Failed), rest: writer("again")}
}

// firstOf names the first object of each kind that the holder of a claim writes for a part.
func firstOf(j job.Job, p job.Part, fence int64) func(kind string) string {
	return func(kind string) string { return files.Of(j, p.Number, fence, kind, 1) }
}

// end writes a request that ended otherwise than done.
func (s sorting) end(end files.Line, request json.RawMessage) error {
	if err := s.results.Line(end); err != nil {
		return err
	}
	end.Request = request
	return s.failed.Line(end)
}

// close ends the objects, and adds those with lines to the results of the part. It returns where the rest is.
func (s sorting) close(of *job.Results) (rest []job.Source, err error) {
	if err := s.results.CloseTo(&of.Final); err != nil {
		return nil, err
	}
	if err := s.failed.CloseTo(&of.Failed); err != nil {
		return nil, err
	}
	object, some, err := s.rest.Close()
	if some {
		rest = []job.Source{{Object: object.Name, Length: object.Size, Requests: s.rest.Lines}}
	}
	return rest, err
}

// abort gives up what is not closed.
func (s sorting) abort() { _, _, _ = s.results.Abort(), s.failed.Abort(), s.rest.Abort() }
