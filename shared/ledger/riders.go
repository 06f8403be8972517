package ledger

import (
	"context"
	"slices"
)

// Replace is a rider's token where it takes the place of whatever there is. It is for riders alone: no store knows it.
const Replace Token = "replace"

// versioned returns riders with the versions, as they are now, of those that replace what there is.
func (l *Ledger) versioned(ctx context.Context, riders []Write) ([]Write, error) {
	replaces := func(w Write) bool { return w.Token == Replace }
	if !slices.ContainsFunc(riders, replaces) {
		return riders, nil
	}
	riders = slices.Clone(riders)
	var paths []Path
	for _, w := range riders {
		if replaces(w) {
			paths = append(paths, w.Path)
		}
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return nil, err
	}
	for i, w := range riders {
		if replaces(w) {
			riders[i].Token, snapshot.Documents = snapshot.Documents[0].Token, snapshot.Documents[1:]
		}
	}
	return riders, nil
}

// unversioned returns riders that are taken for new where nobody has looked.
func unversioned(riders []Write) []Write {
	riders = slices.Clone(riders)
	for i := range riders {
		if riders[i].Token == Replace {
			riders[i].Token = ""
		}
	}
	return riders
}
