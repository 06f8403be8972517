package results

import (
	"errors"
	"io"
)

// A source is a sequence of items as JSON texts.
type source interface {
	// next returns the text of the next item, valid until the next call. Errors: io.EOF after the
	// last item; errLine for one that is too large and was skipped.
	next() ([]byte, error)
}

var errLine = errors.New("larger than allowed")

// A Reader returns the items of a batch in order. It is not safe for concurrent use.
type Reader struct {
	source source
	body   io.Closer
	names  namer
	index  int64
}

func newReader(s source, body io.Closer) *Reader {
	return &Reader{source: s, body: body, names: namer{}}
}

// Next returns the next item, or io.EOF after the last. Any other error is about the connection or
// a broken answer: open the results again and use SkipTo. Only ErrTooLarge is permanent.
func (r *Reader) Next() (Item, error) {
	text, err := r.source.next()
	var item Item
	switch {
	case errors.Is(err, errLine):
		item = problem("it is larger than 32 MiB")
	case err != nil:
		return Item{}, err
	default:
		item = parse(text)
	}
	item.Key, item.Index = r.names.name(item.Key, r.index), r.index
	r.index++
	return item, nil
}

// SkipTo skips the items before index. It reads their keys, on which the keys of later items
// depend. Errors: as Next; io.EOF if there are fewer items.
func (r *Reader) SkipTo(index int64) error {
	for r.index < index {
		text, err := r.source.next()
		key := ""
		switch {
		case errors.Is(err, errLine):
		case err != nil:
			return err
		default:
			key = parseKey(text)
		}
		r.names.name(key, r.index)
		r.index++
	}
	return nil
}

// Close ends the download.
func (r *Reader) Close() error { return r.body.Close() }
