package steps

import (
	"context"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
)

// mostPieces is into how many parts one is split whose batch is refused as a whole.
const mostPieces = 10

// pieces cuts the requests of a part into up to so many ranges of about as many requests each.
func (o Options) pieces(
	ctx context.Context, task effect.Task, of job.Job, p job.Part, most int64,
) ([]job.Source, error) {
	source, err := o.joined(ctx, task, of, p)
	if err != nil {
		return nil, err
	}
	each := max(1, (p.Requests+most-1)/most)
	var pieces []job.Source
	piece := job.Source{Object: source.Object, Offset: source.Offset}
	for line, err := range files.Lines(ctx, o.Storage, []job.Source{source}) {
		if err != nil {
			return nil, err
		}
		piece.Length, piece.Requests = piece.Length+int64(len(line))+1, piece.Requests+1
		if piece.Requests == each {
			pieces = append(pieces, piece)
			piece = job.Source{Object: piece.Object, Offset: piece.Offset + piece.Length}
		}
	}
	if piece.Requests > 0 {
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

// joined returns a part's requests as one range. Those of several objects are copied into one: else each
// would be a piece at least, and they may be many.
func (o Options) joined(ctx context.Context, task effect.Task, of job.Job, p job.Part) (job.Source, error) {
	if len(p.Sources) == 1 {
		return p.Sources[0], nil
	}
	copies := files.NewWriter(ctx, o.Storage, files.Of(of, p.Number, task.Fence, "pieces", 1))
	defer copies.Abort() //nolint:errcheck // it was closed, or an error is returned
	for line, err := range files.Lines(ctx, o.Storage, p.Sources) {
		if err == nil {
			err = copies.Copy(line)
		}
		if err != nil {
			return job.Source{}, err
		}
	}
	object, _, err := copies.Close()
	return job.Source{Object: object.Name, Length: object.Size, Requests: copies.Lines}, err
}
