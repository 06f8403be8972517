package results

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// resultLines is a batch's result as JSON Lines, made as it is read. It holds one item. A download
// that breaks off after some items is resumed at the next one. A line is an item as Gemini
// returned it, {"key","index","response"}, or with "error". It depends on the result alone, so that
// every attempt writes the same bytes.
type resultLines struct {
	client     *results.Client
	completion ledger.Payload
	reader     *results.Reader
	begun      int64         // the index of the first item of the download that is written
	next       int64         // the index of the next item
	failed     int64         // how many items before it are errors
	tally      results.Tally // of the items before it
	// missing is how many items the batch has beyond those of the result, once it was read to its end.
	missing int64

	line bytes.Buffer // the unread rest of the last item
	err  error        // why there is no next item
	size int64        // of the bytes that were read
	sum  uint32       // CRC32C of these bytes
}

// open starts the download, or resumes it at the next item. The result may come in another order than
// before: then the object would lack some items and have others twice.
func (l *resultLines) open(ctx context.Context) error {
	l.close()
	reader, err := l.client.Open(ctx, l.completion.Operation, operation.Result(l.completion.Result))
	if err != nil {
		return err
	}
	l.reader, l.begun = reader, l.next
	for range l.next {
		if _, err := reader.Next(); errors.Is(err, io.EOF) {
			// never io.EOF, which ends an object
			return fmt.Errorf("the result, read again, ends before item %d", l.next)
		} else if err != nil {
			return err
		}
	}
	if reader.Tally() != l.tally || l.next > 0 && l.tally.Unkeyed > 0 {
		return fmt.Errorf("the result, which broke off, does not begin with the same %d items again", l.next)
	}
	return nil
}

func (l *resultLines) close() {
	if l.reader != nil {
		_ = l.reader.Close() // what was read of it is known
		l.reader = nil
	}
}

// from returns the lines as an io.Reader that ends with ctx.
func (l *resultLines) from(ctx context.Context) io.Reader {
	return readerFunc(func(p []byte) (int, error) { return l.read(ctx, p) })
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (l *resultLines) read(ctx context.Context, p []byte) (int, error) {
	for l.line.Len() == 0 {
		if l.err == nil {
			l.err = l.advance(ctx)
		}
		if l.err != nil {
			return 0, l.err
		}
	}
	n := copy(p, l.line.Next(len(p)))
	l.size += int64(n)
	l.sum = crc32.Update(l.sum, castagnoli, p[:n])
	return n, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// advance reads the next item. io.EOF: there is none.
func (l *resultLines) advance(ctx context.Context) error {
	item, err := l.reader.Next()
	again := err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, results.ErrTooLarge)
	if again && l.next > l.begun && ctx.Err() == nil {
		if err := l.open(ctx); err != nil {
			return err
		}
		item, err = l.reader.Next()
	}
	if errors.Is(err, io.EOF) {
		return l.ended(ctx)
	}
	if err != nil {
		return err
	}
	l.next++
	l.tally = l.reader.Tally()
	if item.Error != nil {
		l.failed++
	}
	l.line = bytes.Buffer{} // the last one may have been large
	l.line.Grow(len(item.Response) + len(item.Error) + items.MaxPayloadRest)
	var line []items.Member
	if item.Key != "" {
		line = []items.Member{{Name: "key", Value: item.Key}}
	}
	line = append(line, items.Member{Name: "index", Value: json.RawMessage(strconv.FormatInt(item.Index, 10))})
	if len(item.Response) > 0 {
		line = append(line, items.Member{Name: "response", Value: item.Response})
	}
	if len(item.Error) > 0 {
		line = append(line, items.Member{Name: "error", Value: item.Error})
	}
	if err := items.Splice(&l.line, line); err != nil {
		return fmt.Errorf("encoding item %s: %w", item.Key, err)
	}
	return l.line.WriteByte('\n')
}

// ended returns io.EOF if the result has an item for each request of the batch, or if a second reading
// lacks the same items.
func (l *resultLines) ended(ctx context.Context) error {
	total := int64(0)
	if counts := l.completion.Result.Counts; counts != nil {
		total = counts.Total
	} else { // as in an event about the end
		var err error
		if total, err = l.client.Count(ctx, l.completion.Operation); err != nil {
			return fmt.Errorf("asking how many requests the batch has: %w", err)
		}
	}
	if l.missing = max(total-l.next, 0); l.missing == 0 {
		return io.EOF
	}
	again, err := l.client.Open(ctx, l.completion.Operation, operation.Result(l.completion.Result))
	if err != nil {
		return err
	}
	defer again.Close() //nolint:errcheck // what was read of it is known
	for err == nil {
		_, err = again.Next()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if again.Tally() != l.tally {
		return fmt.Errorf("two readings of the result differ; the first had %d of %d items", l.next, total)
	}
	return io.EOF
}

// failure returns why the result could not be read to its end; nil if it was, or if nothing has failed
// yet.
func (l *resultLines) failure() error {
	if errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

// crc32c returns the checksum in the form of Cloud Storage.
func (l *resultLines) crc32c() string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, l.sum))
}
