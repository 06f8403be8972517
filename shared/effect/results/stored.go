package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Stored are the places to which effects have written results.
type Stored struct {
	Ledger  ledger.Reading
	Effects []spec.Spec
	// Emulator is the address of an emulated Cloud Storage, for tests; empty: Google's.
	Emulator string
}

// storedPage is how many documents are read at once: each may have a megabyte.
const storedPage = 16

// Copied is what CopyStored has written.
type Copied struct {
	// Found is false where no effect of the batch is DONE that writes results, or what it wrote is not there any more,
	// such as in a moved object: then nothing was written, and Gemini may have it.
	Found bool
	Lines int64
	// Deleted is how many documents an effect wrote that are not there any more: they have no line.
	Deleted int64
}

// Whole reports whether each of so many requests has a line; 0: their number is not known.
func (c Copied) Whole(requests int64) bool {
	return c.Deleted == 0 && (requests == 0 || c.Lines == requests)
}

// CopyStored writes the result of a batch as JSON Lines from where an effect of it that is DONE has put it. Errors:
// those of the ledger, of Cloud Storage and of w.
func CopyStored(ctx context.Context, w io.Writer, s Stored, rec operation.Record) (copied Copied, err error) {
	for _, one := range s.Effects {
		do, writes := one.Do.(*Do)
		if !writes || rec.Effects[one.Name] != operation.EffectDone {
			continue
		}
		if do.Bucket != "" {
			copied, err = s.copyObject(ctx, w, do.Bucket, rec.Key, one.Name)
		} else {
			copied, err = s.copyDocuments(ctx, w, do.Collection, rec.Key, one.Name)
		}
		if copied.Found || err != nil {
			return copied, err
		}
	}
	return Copied{}, nil
}

func (s Stored) copyObject(
	ctx context.Context, w io.Writer, bucket string, key operation.Key, effect string,
) (copied Copied, err error) {
	from, err := storage.Open(bucket, s.Emulator)
	if err != nil {
		return copied, fmt.Errorf("opening %s: %w", bucket, err)
	}
	content, err := from.Read(ctx, objectName(key, effect), 0, -1)
	if errors.Is(err, storage.ErrNotExist) {
		return copied, nil
	}
	if err != nil {
		return copied, fmt.Errorf("reading the result of %s: %w", key, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	lines := lineCounter{w: w}
	if _, err = io.Copy(&lines, content); err != nil {
		err = fmt.Errorf("reading the result of %s: %w", key, err)
	}
	return Copied{Found: true, Lines: lines.count}, err
}

// A lineCounter counts the lines that are written to w.
type lineCounter struct {
	w     io.Writer
	count int64
}

// Write implements io.Writer.
func (l *lineCounter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	l.count += int64(bytes.Count(p[:n], []byte("\n")))
	return n, err //nolint:wrapcheck // io.Copy's caller says what was written
}

// A storedLine is a document of an item as a line.
type storedLine struct {
	Key      string          `json:"key"`
	Index    int64           `json:"index"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
}

func (s Stored) copyDocuments(
	ctx context.Context, w io.Writer, collection string, key operation.Key, effect string,
) (copied Copied, err error) {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false) // as Gemini sent it
	for after := (ledger.Cursor{}); ; {
		documents, next, err := s.Ledger.Items.Documents(ctx, key, effect, collection, after, storedPage)
		if err != nil {
			return copied, err
		}
		for _, document := range documents {
			if !document.Exists() {
				copied.Deleted++
				continue
			}
			var item ItemResult
			if err := document.Decode(&item); err != nil {
				return copied, fmt.Errorf("reading %s: %w", document.Path, err)
			}
			line := storedLine{item.Key, item.Index, json.RawMessage(item.Response), json.RawMessage(item.Error)}
			copied.Found = true
			if err := lines.Encode(line); err != nil {
				return copied, fmt.Errorf("writing %s: %w", document.Path, err)
			}
			copied.Lines++
		}
		if after = next; after == (ledger.Cursor{}) {
			return copied, nil
		}
	}
}
