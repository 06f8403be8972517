package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/ledger"
)

// A Checked is a store that looks at every write before it passes it on, and reports to the test what must not be in any
// document of the ledger's, whatever the store would make of it:
//
//   - dueAt and expireAt together: what is waited for must not be deleted [L3];
//   - text that is not UTF-8, which one store mends silently and the other refuses;
//   - a version that nobody counted: a write that changes nothing may keep its token.
type Checked struct {
	ledger.Store
	t testing.TB
}

// Check returns store with every write checked.
func Check(t testing.TB, store ledger.Store) *Checked { return &Checked{Store: store, t: t} }

// Commit is the store's Commit, after the checks.
func (c *Checked) Commit(ctx context.Context, writes ...ledger.Write) error {
	for _, w := range writes {
		if err := checkWrite(w); err != nil {
			c.t.Errorf("a write that no store should see: %.80s: %v", w.Path, err)
		}
	}
	return c.Store.Commit(ctx, writes...)
}

func checkWrite(w ledger.Write) error {
	if w.Data == nil {
		return nil
	}
	v := reflect.ValueOf(w.Data)
	if v.Kind() != reflect.Struct {
		return fmt.Errorf("%T is not a struct", w.Data)
	}
	due, expire := v.FieldByName("DueAt"), v.FieldByName("ExpireAt")
	if due.IsValid() && expire.IsValid() && !due.IsZero() && !expire.IsZero() {
		return fmt.Errorf("it has both dueAt %v and expireAt %v", due, expire)
	}
	if version := v.FieldByName("Version"); version.IsValid() && version.Int() == 0 {
		return errors.New("its version was not counted")
	}
	return checkText("", v)
}

// checkText finds text that is not UTF-8, anywhere in v.
func checkText(at string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return fmt.Errorf("%s is not UTF-8: %.40q", at, v.String())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range v.NumField() {
			if err := checkText(at+"."+v.Type().Field(i).Name, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := errors.Join(checkText(at+" key", key), checkText(at+"["+key.String()+"]", v.MapIndex(key))); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return checkText(at, v.Elem())
		}
	}
	return nil
}
