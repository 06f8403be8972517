package results

import (
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

// CopyStored writes the result of a batch as JSON Lines from where an effect of it that is DONE has put it. found is
// false where there is no such effect, or what it wrote is not there any more, such as in a moved object: then nothing
// was written, and Gemini may have it. Errors: those of the ledger, of Cloud Storage and of w.
func CopyStored(ctx context.Context, w io.Writer, s Stored, rec operation.Record) (found bool, err error) {
	for _, one := range s.Effects {
		do, writes := one.Do.(*Do)
		if !writes || rec.Effects[one.Name] != operation.EffectDone {
			continue
		}
		if do.Bucket != "" {
			found, err = s.copyObject(ctx, w, do.Bucket, rec.Key, one.Name)
		} else {
			found, err = s.copyDocuments(ctx, w, do.Collection, rec.Key, one.Name)
		}
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (s Stored) copyObject(
	ctx context.Context, w io.Writer, bucket string, key operation.Key, effect string,
) (bool, error) {
	from, err := storage.Open(bucket, s.Emulator)
	if err != nil {
		return false, fmt.Errorf("opening %s: %w", bucket, err)
	}
	content, err := from.Read(ctx, objectName(key, effect), 0, -1)
	if errors.Is(err, storage.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the result of %s: %w", key, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(w, content); err != nil {
		return true, fmt.Errorf("reading the result of %s: %w", key, err)
	}
	return true, nil
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
) (found bool, err error) {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false) // as Gemini sent it
	for after := (ledger.Cursor{}); ; {
		documents, next, err := s.Ledger.Items.Documents(ctx, key, effect, collection, after, storedPage)
		if err != nil {
			return found, err
		}
		for _, document := range documents {
			var item ItemResult
			if err := document.Decode(&item); err != nil {
				return found, fmt.Errorf("reading %s: %w", document.Path, err)
			}
			line := storedLine{item.Key, item.Index, json.RawMessage(item.Response), json.RawMessage(item.Error)}
			if err := lines.Encode(line); err != nil {
				return true, fmt.Errorf("writing %s: %w", document.Path, err)
			}
			found = true
		}
		if after = next; after == (ledger.Cursor{}) {
			return found, nil
		}
	}
}
