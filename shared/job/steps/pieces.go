package steps

import (
	"context"
	"math"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
)

// mostPieces is into how many parts one is split whose batch is refused as a whole.
const mostPieces = 10

// cutUp returns the write of a part that ends as up to so many pieces.
func (o Options) cutUp(
	ctx context.Context, task effect.Task, of job.Job, p ledger.StoredPart, most int64,
) ([]ledger.Write, error) {
	pieces, err := o.pieces(ctx, task, of, p.Part, most)
	if err != nil {
		return nil, err
	}
	return o.endAs(ctx, p, pieces), nil
}

// endAs returns the write of a part that no batch is made of, with the pieces that other parts are made of.
func (o Options) endAs(ctx context.Context, p ledger.StoredPart, pieces []job.Source) []ledger.Write {
	o.deleteInputs(ctx, p.Part)
	p.State, p.Pieces = job.Refused, pieces
	p.Waits, p.WaitsSince = "", time.Time{}
	return []ledger.Write{p.Write()}
}

// pieces cuts the requests of a part into up to so many ranges of about as many requests each.
func (o Options) pieces(
	ctx context.Context, task effect.Task, of job.Job, p job.Part, most int64,
) ([]job.Source, error) {
	source, err := o.joined(ctx, task, of, p)
	if err != nil {
		return nil, err
	}
	each := max(1, (p.Requests+most-1)/most)
	cutter := job.NewCutter(job.Options{MaxRequestsPerBatch: each, MaxBytesPerBatch: math.MaxInt64},
		source.Object, source.Offset)
	var pieces []job.Source
	for line, err := range files.Lines(ctx, o.Storage, []job.Source{source}) {
		if err != nil {
			return nil, err
		}
		if piece, ok := cutter.Add(int64(len(line)) + 1); ok {
			pieces = append(pieces, piece)
		}
	}
	if rest, ok := cutter.Rest(); ok {
		pieces = append(pieces, rest)
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
