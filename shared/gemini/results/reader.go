package results

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opledger/opledger/shared/operation"
)

// A source is a sequence of items as JSON texts.
type source interface {
	// next returns the text of the next item, valid until the next call. Errors: io.EOF after the
	// last item; errLine for one that is too large and was skipped, with the beginning of its text.
	next() ([]byte, error)
}

var errLine = errors.New("larger than allowed")

// A Reader returns the items of a batch in the order in which they come this time. It is not safe for
// concurrent use. It keeps 16 bytes of each key.
type Reader struct {
	source     source
	body       io.Closer
	byPosition bool
	seen       map[operation.KeyHash]struct{}
	tally      Tally
}

// A Tally describes the items that a Reader has read. Two reads of the same items have the same one, in
// whatever order they came.
type Tally struct {
	Items    int64
	Keys     int64            // different ones
	Unkeyed  int64            // items without a key
	Repeated int64            // items with a key that an earlier one had
	Sum      operation.KeySum // of the keys
}

func newReader(s source, body io.Closer) *Reader {
	return &Reader{source: s, body: body, seen: map[operation.KeyHash]struct{}{}}
}

// ByPosition makes the Reader give an item without a key the key index-N, by its position, counted from
// 0. It must be called before the first item is read. Gemini does not keep the order of requests in
// inline results, so index-7 may be the answer to another request each time.
func (r *Reader) ByPosition() { r.byPosition = true }

// Next returns the next item, or io.EOF after the last. Any other error is about the connection or
// a broken answer: open the results again. Only ErrTooLarge is permanent.
func (r *Reader) Next() (Item, error) {
	text, err := r.source.next()
	var item Item
	switch {
	case errors.Is(err, errLine):
		item = problem("it is larger than 32 MiB")
		item.Key = keyAtBeginning(text)
	case err != nil:
		return Item{}, err
	default:
		item = parse(text)
	}
	item.Index = r.tally.Items
	item.Submitted = item.Key
	if len(item.Key) > maxSubmittedBytes {
		item.Submitted = strings.Clone(item.Key[:maxSubmittedBytes]) // else the whole would be kept
	}
	item.Key, item.Repeated = r.add(item.Key)
	return item, nil
}

// add counts an item with the submitter's key, and returns its Key and whether it is Repeated.
func (r *Reader) add(key string) (string, bool) {
	index := r.tally.Items
	r.tally.Items++
	if key == "" && r.byPosition {
		key = fmt.Sprintf("index-%d", index)
	}
	if key == "" {
		r.tally.Unkeyed++
		return "", false
	}
	key = readable(key)
	hash := operation.HashKey(key)
	if _, repeated := r.seen[hash]; repeated {
		r.tally.Repeated++
		return key, true
	}
	r.seen[hash] = struct{}{}
	r.tally.Keys++
	r.tally.Sum = r.tally.Sum.With(hash)
	return key, false
}

// Skip skips items until so many different keys were read. Errors: as Next; io.EOF if there are fewer.
func (r *Reader) Skip(keys int64) error {
	for r.tally.Keys < keys {
		text, err := r.source.next()
		key := ""
		switch {
		case errors.Is(err, errLine):
			key = keyAtBeginning(text)
		case err != nil:
			return err
		default:
			key = parseKey(text)
		}
		r.add(key)
	}
	return nil
}

// Tally describes what was read so far, or skipped.
func (r *Reader) Tally() Tally { return r.tally }

// Close ends the download.
func (r *Reader) Close() error { return r.body.Close() }
