package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Frozen is a document as a release stored it. Every later revision reads it so [L5].
type Frozen struct {
	Kind   string // and the name of its golden file, in testdata/schema-N of each store
	Schema int    // that N; 0: 1
	Data   any    // a struct: what the document means
	// Superseded: a later number took its place. It is read, and no longer stored so.
	Superseded bool
	// Added are the fields that a later release added, with why an older revision's writes do no
	// harm to each: "lasting: …", "stamped: …" or "derived: …" [L5]. They are absent from the golden
	// file.
	Added map[string]string
}

var freeze = flag.Bool("freeze", false, "write the golden files of document kinds that have none")

// A RawStore is a store whose documents a test reads and writes as they are stored.
type RawStore struct {
	ledger.Store
	// Read returns a document as it is stored, Write stores one; as text that the operator can compare.
	Read  func(t testing.TB, path ledger.Path) []byte
	Write func(t testing.TB, path ledger.Path, text []byte)
}

// CheckFrozen checks that documents of the golden files in folder are read as what they meant, and
// that what has the same meaning is still stored so. It fails for a document without a file; with
// the flag -freeze it writes that file, and no other.
func CheckFrozen(t *testing.T, folder string, store RawStore, documents []Frozen) {
	for i, frozen := range documents {
		schema := fmt.Sprint("schema-", max(frozen.Schema, 1))
		t.Run(schema+"/"+frozen.Kind, func(t *testing.T) {
			if err := frozen.whole(); err != nil && !frozen.Superseded {
				t.Errorf("%s: %v", frozen.Kind, err)
			}
			stored := ledger.Path(fmt.Sprintf("frozen/today-%d", i))
			if _, err := store.Commit(t.Context(), ledger.Write{Path: stored, Data: frozen.Data}); err != nil {
				t.Fatal(err)
			}
			today := store.Read(t, stored)
			file := filepath.Join(folder, schema, frozen.Kind+".json")
			golden, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) && *freeze {
				golden, err = today, os.WriteFile(file, today, 0o600)
			}
			if err != nil {
				t.Fatalf("%v: a kind of document has a golden file from its first release on; write it with -freeze", err)
			}
			if !reflect.DeepEqual(members(t, today), members(t, golden)) && !frozen.Superseded {
				t.Errorf("it is stored as\n%s\nand was stored as\n%s", today, golden)
			}
			before := ledger.Path(fmt.Sprintf("frozen/before-%d", i))
			store.Write(t, before, golden)
			snapshot, err := store.Get(t.Context(), before)
			if err != nil {
				t.Fatal(err)
			}
			read := reflect.New(reflect.TypeOf(frozen.Data))
			if err := snapshot.Documents[0].Decode(read.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(read.Elem().Interface(), frozen.Data) {
				t.Errorf("it is read as\n%+v\nand meant\n%+v", read.Elem().Interface(), frozen.Data)
			}
		})
	}
}

// members decodes a document: the order of its members means nothing.
func members(t testing.TB, text []byte) (all map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// whole checks that a document sets every field that its number has. So a field that is added must
// be named in Added, and one inside of another field cannot be added.
func (f Frozen) whole() error {
	var errs []error
	v := reflect.ValueOf(f.Data)
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.Anonymous || field.Tag.Get("json") == "-" {
			continue
		}
		value := v.FieldByIndex(field.Index)
		why, added := f.Added[field.Name]
		kind, _, _ := strings.Cut(why, ": ")
		switch {
		case added && !slices.Contains([]string{"lasting", "stamped", "derived"}, kind):
			errs = append(errs, fmt.Errorf("the added field %s must be lasting, stamped or derived [L5], not %q", field.Name,
				why))
		case added && !value.IsZero():
			errs = append(errs, fmt.Errorf("the added field %s is set in what was stored before", field.Name))
		case !added:
			errs = append(errs, full(field.Name, value))
		}
	}
	return errors.Join(errs...)
}

// full returns an error for each zero value in v.
func full(name string, v reflect.Value) error {
	var errs []error
	switch {
	case v.IsZero():
		return fmt.Errorf("%s is not set: an added field is at the top, and in Added; see RULES.md, L5", name)
	case v.Type() == reflect.TypeFor[time.Time]():
	case v.Kind() == reflect.Pointer:
		return full(name, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // else it is not stored
				errs = append(errs, full(name+"."+v.Type().Field(i).Name, v.Field(i)))
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			errs = append(errs, full(fmt.Sprintf("%s[%d]", name, i), v.Index(i)))
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			errs = append(errs, full(fmt.Sprintf("%s[%v]", name, key), v.MapIndex(key)))
		}
	}
	return errors.Join(errs...)
}

// frozenKinds are the types of FrozenDocuments. Every write of a checked store asks for them.
var frozenKinds = sync.OnceValue(func() map[reflect.Type]bool {
	kinds := map[reflect.Type]bool{}
	for _, f := range FrozenDocuments() {
		kinds[reflect.TypeOf(f.Data)] = true
	}
	return kinds
})

// checkFrozen checks that a document of the ledger's is of a kind that is frozen.
func checkFrozen(w ledger.Write) error {
	if w.Data == nil {
		return nil
	}
	kind := reflect.TypeOf(w.Data)
	ledgers := []string{reflect.TypeFor[ledger.Effect]().PkgPath(), reflect.TypeFor[operation.Record]().PkgPath()}
	if slices.Contains(ledgers, kind.PkgPath()) && !frozenKinds()[kind] {
		return fmt.Errorf("%T is stored, and FrozenDocuments has none [L5]", w.Data)
	}
	return nil
}
