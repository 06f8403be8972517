package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
)

// carry returns an update with the members of the stored body that its type does not have: those
// that another revision added [L5]. The error is or wraps ErrConflict where the document has another
// version, and ErrInvalid where both together are too large.
func (s *Store) carry(ctx context.Context, tx *sql.Tx, r row) (row, error) {
	var stored []byte
	err := tx.StmtContext(ctx, s.stored).QueryRowContext(ctx, string(r.path), string(r.token)).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, fmt.Errorf("%s: %w", r.path, ledger.ErrConflict)
	}
	if err != nil {
		return row{}, err
	}
	body, err := withUnknown(r.body, stored, reflect.TypeOf(r.data))
	if err != nil {
		return row{}, fmt.Errorf("encoding %s: %w: %w", r.path, ledger.ErrInvalid, err)
	}
	if len(body) == len(r.body) {
		return r, nil
	}
	return r.with(body)
}

// withUnknown returns body, the JSON of a struct of type t, with those members of stored that t has
// no field for. It is body itself where there are none, also because stored is damaged.
func withUnknown(body, stored []byte, t reflect.Type) ([]byte, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(stored, &members) != nil {
		return body, nil
	}
	known := membersOf(t)
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return known[strings.ToLower(name)] })
	if len(members) == 0 {
		return body, nil
	}
	unknown, err := marshal(members) // in the order of their names
	if err != nil || len(body) == len("{}") {
		return unknown, err
	}
	return slices.Concat(body[:len(body)-1], []byte(","), unknown[1:]), nil
}

// membersOf returns the names that JSON reads into a field of a struct type, in lower case, because
// it does so in any case.
func membersOf(t reflect.Type) map[string]bool {
	names := make(map[string]bool, t.NumField())
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			continue // its fields follow
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		names[strings.ToLower(name)] = true
	}
	return names
}
