package firestore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A field is one top-level field of a document.
type field struct {
	name   string
	value  any
	absent bool // the document must not have it
}

// fieldsOf lists the fields of a document's struct, by the same `firestore` tags that the client
// reads documents with. The client's own encoder is not used: it stores a zero struct, such as an
// empty Result, as an empty map, stores nil as null, and does not report the fields that it left
// out and that must be removed.
//
// A document that is surely too large is refused here. Firestore answers a request that is too
// large with RESOURCE_EXHAUSTED, and the client would repeat it.
//
// The error is ErrInvalid.
func fieldsOf(data any) ([]field, error) {
	v := reflect.Indirect(reflect.ValueOf(data))
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a document must be a struct, not %T: %w", data, ledger.ErrInvalid)
	}
	var fields []field
	size := 0
	for _, sf := range reflect.VisibleFields(v.Type()) {
		value := v.FieldByIndex(sf.Index)
		name, options, _ := strings.Cut(sf.Tag.Get("firestore"), ",")
		switch {
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct: // its fields follow
			continue
		case sf.Anonymous:
			return nil, fmt.Errorf("%T embeds %s: %w", data, sf.Name, ledger.ErrInvalid)
		case !sf.IsExported() || name == "-":
			continue
		case name == "":
			name = sf.Name
		}
		if !slices.Contains([]string{"", "omitempty", "omitzero"}, options) {
			return nil, fmt.Errorf("%T: field %s: option %q is not known: %w", data, name, options, ledger.ErrInvalid)
		}
		fields = append(fields, field{name: name, value: valueOf(value), absent: isAbsent(value, options != "")})
		size += sizeOf(value)
	}
	if size > ledger.MaxDocumentBytes {
		return nil, fmt.Errorf(
			"its texts and bytes alone are %d bytes, the limit is %d: %w", size, ledger.MaxDocumentBytes, ledger.ErrInvalid,
		)
	}
	return fields, nil
}

// isAbsent reports whether a document with this value in a field lacks the field. Nothing is ever
// null.
func isAbsent(v reflect.Value, omit bool) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.IsNil() || omit && v.Len() == 0
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	default:
		return omit && v.IsZero()
	}
}

// valueOf returns a field's value as it is stored. Firestore keeps microseconds; the emulator may
// keep more.
func valueOf(v reflect.Value) any {
	value := v.Interface()
	if t, ok := value.(time.Time); ok {
		return operation.Instant(t)
	}
	return value
}

// sizeOf returns the least size of a text or of bytes; 0 for any other type.
func sizeOf(v reflect.Value) int {
	if v.Kind() == reflect.String || v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return v.Len()
	}
	return 0
}
