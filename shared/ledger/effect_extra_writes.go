package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Replace is the token of an extra write that replaces whatever version its document has. It is for
// extra writes alone: no store knows it.
const Replace Token = "replace"

// ErrExists: an extra write may only create its document, which exists already. No retry helps.
var ErrExists = errors.New("the document exists already, and may only be created")

func replaces(w Write) bool { return w.Token == Replace }

// versioned returns extra writes with the current versions of the documents that they replace. It
// is called where one of them replaces, or after a commit with them lost a race, perhaps because of
// one of them. ErrExists: one can never be written. ErrContention: the version that one requires is
// outdated, so that the caller must read again. Both name the document. ErrConflict: the effect has
// changed since it was read, so that the documents may be those of its next holder.
func (l *protocol) versioned(ctx context.Context, effect Document, extra []Write) ([]Write, error) {
	paths := []Path{effect.Path}
	for _, w := range extra {
		paths = append(paths, w.Path)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return nil, err
	}
	if snapshot.Documents[0].Token != effect.Token {
		return nil, ErrConflict
	}
	extra = slices.Clone(extra)
	for i, doc := range snapshot.Documents[1:] {
		switch w := &extra[i]; {
		case replaces(*w):
			w.Token = doc.Token
		case w.Token == doc.Token:
		case w.Token == "":
			return nil, fmt.Errorf("%w: %s", ErrExists, w.Path)
		default:
			return nil, fmt.Errorf("%w: %s has another version by now", ErrContention, w.Path)
		}
	}
	return extra, nil
}

// unversioned returns extra writes whose documents are assumed not to exist where they replace: the
// usual case, which saves reading them. After a conflict versioned reads them.
func unversioned(extra []Write) []Write {
	extra = slices.Clone(extra)
	for i := range extra {
		if replaces(extra[i]) {
			extra[i].Token = ""
		}
	}
	return extra
}
