package steps

import (
	"context"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
)

// mostPieces is into how many parts one is split whose batch is refused as a whole.
const mostPieces = 10

// pieces cuts the requests of a part into up to ten ranges of about as many requests each.
func (o Options) pieces(ctx context.Context, p job.Part) ([]job.Source, error) {
	each := max(1, (p.Requests+mostPieces-1)/mostPieces)
	var pieces []job.Source
	for _, source := range p.Sources {
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
	}
	return pieces, nil
}
