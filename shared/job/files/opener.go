package files

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/opledger/opledger/shared/storage"
)

// Opener returns what opens the results of jobs in s by their place, as the records of jobs have it. Its errors
// are ErrForeignStorage, and those of the storage.
func Opener(s storage.Storage) func(ctx context.Context, place string) (io.ReadCloser, error) {
	return func(ctx context.Context, place string) (io.ReadCloser, error) {
		if s == nil {
			return nil, fmt.Errorf("%w: they are at %s, and this process has none", ErrForeignStorage, place)
		}
		name, ours := strings.CutPrefix(place, s.String()+"/")
		if !ours {
			return nil, fmt.Errorf("%w: they are at %s, and this process has %s", ErrForeignStorage, place, s)
		}
		return s.Read(ctx, name, 0, -1)
	}
}
