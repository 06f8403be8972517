package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Replace is a rider's token where it takes the place of whatever there is. It is for riders alone: no store knows it.
const Replace Token = "replace"

// ErrExists: a rider may only create its document, and it is there already. No further attempt changes that.
var ErrExists = errors.New("the document is there already, and may only be created")

func replaces(w Write) bool { return w.Token == Replace }

// versioned returns riders with the versions, as they are now, of those that replace what there is. It is for where one of
// them does, or where a commit with them has lost a race, perhaps because of a rider: one that can never be written is
// ErrExists, and one whose version is gone, so that another attempt must look again, is ErrContention. Both name the document.
func (l *Ledger) versioned(ctx context.Context, riders []Write) ([]Write, error) {
	paths := make([]Path, len(riders))
	for i, w := range riders {
		paths[i] = w.Path
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return nil, err
	}
	riders = slices.Clone(riders)
	for i, doc := range snapshot.Documents {
		switch w := &riders[i]; {
		case replaces(*w):
			w.Token = doc.Token
		case w.Token == doc.Token:
		case w.Token == "":
			return nil, fmt.Errorf("%w: %s", ErrExists, w.Path)
		default:
			return nil, fmt.Errorf("%w: %s is not any more as it was read", ErrContention, w.Path)
		}
	}
	return riders, nil
}

// unversioned returns riders that are taken for new where nobody has looked.
func unversioned(riders []Write) []Write {
	riders = slices.Clone(riders)
	for i := range riders {
		if replaces(riders[i]) {
			riders[i].Token = ""
		}
	}
	return riders
}
