package results

import (
	"errors"
	"io"
)

// A source is a sequence of items in their own texts.
type source interface {
	// next returns the text of the next item, valid until the next call. io.EOF: there is no other.
	// errLine: the item is too large and was passed over.
	next() ([]byte, error)
}

var errLine = errors.New("larger than allowed")

// A Reader gives a batch's items one after the other. It is for one goroutine.
type Reader struct {
	source source
	body   io.Closer
	names  namer
	index  int64
}

func newReader(s source, body io.Closer) *Reader {
	return &Reader{source: s, body: body, names: namer{}}
}

// Next returns the next item, or io.EOF behind the last. Any other error is of the connection, or
// of an answer that is broken: open the results again and skip to where one was. ErrTooLarge alone
// does not pass.
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

// SkipTo passes over the items before index without making anything of them. Their keys are read,
// because what a later one is called depends on them. Errors: as Next; io.EOF where there are not
// so many items.
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
