package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Page is a part of a query's result, in the query's order.
type Page[T any] struct {
	Items []T
	// Broken are the documents that could not be read. They do not hide the others [R6].
	Broken []Broken
	// Next continues behind the last document; it is the zero Cursor at the end.
	Next Cursor
	// First is the time of the first document that a query found; zero: none.
	First time.Time
}

// ErrForeign: a document's path is not that of the key that it holds. It belongs to another program
// that uses the same database.
var ErrForeign = errors.New("it is not the ledger's")

// A Broken is a document that is left alone: it cannot be decoded, is ErrForeign or ErrNewer.
type Broken struct {
	Path Path
	Err  error
}

func (b Broken) Error() string { return fmt.Sprintf("reading %s: %v", b.Path, b.Err) }

// Unwrap returns the cause.
func (b Broken) Unwrap() error { return b.Err }

// MarshalJSON writes the path and the cause's text.
func (b Broken) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"path": string(b.Path), "error": b.Err.Error()})
}

// broken returns the Broken of a document that err is about.
func broken(d Document, err error) Broken {
	if already, ok := errors.AsType[Broken](err); ok {
		return already
	}
	return Broken{Path: d.Path, Err: err}
}

// readOne reads a document that its path identifies, and the store's time. what names it in an error.
func readOne[T any](ctx context.Context, store Store, path Path, what string) (T, Document, time.Time, error) {
	var stored T
	snapshot, err := store.Get(ctx, path)
	if err != nil {
		return stored, Document{}, time.Time{}, fmt.Errorf("reading %s: %w", what, err)
	}
	doc := snapshot.Documents[0]
	stored, err = decode(doc, func(T) Path { return path })
	return stored, doc, operation.Instant(snapshot.ReadTime), err
}

// decode decodes a document, and checks that its path is that of the key that it holds. One that
// does not exist is the zero struct.
func decode[T any](d Document, path func(T) Path) (T, error) {
	if !d.Exists() {
		var none T // a variable of its own: `read` escapes to the heap
		return none, nil
	}
	var read T
	if err := d.Decode(&read); err != nil {
		return read, Broken{Path: d.Path, Err: err}
	}
	if own := path(read); own != d.Path {
		return read, Broken{Path: d.Path, Err: fmt.Errorf("%w: its content belongs to %s", ErrForeign, own)}
	}
	return read, nil
}

// find returns a page of a query's result. Documents that read refuses are Broken. what names the query in an error.
func find[T any](
	ctx context.Context, store Store, what string, q Query, read func(Document) (T, error),
) (Page[T], error) {
	var page Page[T]
	found, err := store.Query(ctx, q)
	if err != nil {
		return page, fmt.Errorf("%s: %w", what, err)
	}
	for _, doc := range found {
		if item, err := read(doc); err == nil {
			page.Items = append(page.Items, item)
		} else {
			page.Broken = append(page.Broken, broken(doc, err))
		}
	}
	if len(found) > 0 {
		page.First = found[0].At
	}
	if len(found) == q.Limit {
		last := found[len(found)-1]
		page.Next = Cursor{At: last.At, Path: last.Path}
	}
	return page, nil
}

// maxSearched is how many documents one search reads at most.
const maxSearched = 5000

// search returns a page of the matching documents that queries of one order find together. It reads
// chunk of them, and goes on in larger chunks until the page is full, the queries end, or it has
// read maxSearched: then the page may be short, or empty, and has a Next. what names it in an error.
func search[T any](
	ctx context.Context, store Store, what string, queries []Query, chunk int,
	read func(Document) (item T, matches bool, err error),
) (page Page[T], err error) {
	limit := queries[0].Limit
	for searched := 0; ; chunk = max(chunk, minChunk) {
		found, err := together(ctx, store, queries, chunk)
		if err != nil {
			return page, fmt.Errorf("%s: %w", what, err)
		}
		for _, doc := range found {
			page.Next = Cursor{At: doc.At, Path: doc.Path}
			switch item, matches, err := read(doc); {
			case err != nil:
				page.Broken = append(page.Broken, broken(doc, err))
			case matches:
				page.Items = append(page.Items, item)
			}
			if len(page.Items)+len(page.Broken) == limit {
				return page, nil
			}
		}
		if len(found) < chunk {
			page.Next = Cursor{}
			return page, nil
		}
		if searched += chunk; searched >= maxSearched {
			return page, nil
		}
		for i := range queries {
			queries[i].After = page.Next
		}
	}
}

// minChunk is how many documents a search reads at once where the first ones did not fill its page.
const minChunk = 200

// together returns the first documents, at most limit, that queries find together, in their common
// order.
func together(ctx context.Context, store Store, queries []Query, limit int) ([]Document, error) {
	var all []Document
	for _, q := range queries {
		q.Limit = limit
		found, err := store.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b Document) int {
		order := cmp.Or(a.At.Compare(b.At), a.Path.Compare(b.Path))
		if queries[0].Descending {
			return -order
		}
		return order
	})
	return all[:min(limit, len(all))], nil
}
