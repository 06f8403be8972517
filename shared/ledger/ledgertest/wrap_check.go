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
	"github.com/opledger/opledger/shared/operation"
)

// A Checked is a store that checks every write before it passes it on. It reports to the test what
// no document of the ledger may hold, whatever the store would do with it:
//
//   - dueAt and expireAt together: what is waited for must not be deleted [L3];
//   - a record that expires while an effect is open, is waited for although it was abandoned, or
//     has only half of a condition [R4];
//   - an effect that expires or is due against its state, or whose key is not its own [K4];
//   - an effect with a lower fence than before [S6], or with the same message twice [G5], one that
//     died and is not DEAD, or whose history has an entry too many, too long or out of order;
//   - text that is not UTF-8, which one store corrects silently and the other refuses;
//   - a version that was not incremented: a write that changes nothing may keep its token;
//   - an intent with neither a due time nor an expiry, and one that is bound in another commit than
//     the one that registers its operation with the intent's id [G6];
//   - a document of a kind that is not frozen [L5];
//   - an item that is written without its effect, which is CLAIMED with the same fence [S6], or
//     whose key is not its own [K4].
type Checked struct {
	ledger.Store
	// Leaps: the store's clock may leap back, so that what came later may have an earlier time.
	Leaps  bool
	t      testing.TB
	fences fences
}

// Check returns store with every write checked.
func Check(t testing.TB, store ledger.Store) *Checked { return &Checked{Store: store, t: t} }

// Commit is the store's Commit, after the checks.
func (c *Checked) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, w := range writes {
		if err := checkWrite(w, c.Leaps); err != nil {
			c.t.Errorf("a write that no store should see: %.80s: %v", w.Path, err)
		}
		if err := checkFrozen(w); err != nil {
			c.t.Errorf("a document that an upgrade may break: %.80s: %v", w.Path, err)
		}
		if intent, ok := w.Data.(ledger.Intent); ok {
			if err := checkIntent(intent, writes); err != nil {
				c.t.Errorf("an intent that no store should see: %.80s: %v", w.Path, err)
			}
		}
		if item, ok := w.Data.(ledger.Item); ok {
			if err := checkItem(item, writes); err != nil {
				c.t.Errorf("an item that no store should see: %.80s: %v", w.Path, err)
			}
		}
	}
	tokens, err := c.Store.Commit(ctx, writes...)
	if err == nil {
		if err := c.fences.note(writes); err != nil {
			c.t.Errorf("a commit that no store should see: %v", err)
		}
	}
	return tokens, err
}

func checkWrite(w ledger.Write, leaps bool) error {
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
	var err error
	switch document := w.Data.(type) {
	case operation.Record:
		err = checkRecord(document)
	case ledger.Effect:
		err = checkEffect(document, leaps)
	}
	return errors.Join(err, checkText("", v))
}

// checkIntent checks an intent and the commit that writes it.
func checkIntent(intent ledger.Intent, commit []ledger.Write) error {
	open := intent.State == ledger.IntentOpen
	if intent.DueAt.IsZero() == intent.ExpireAt.IsZero() || open && intent.DueAt.IsZero() ||
		!intent.Waiting() && !intent.DueAt.IsZero() || open == intent.GiveUpAt.IsZero() {
		return fmt.Errorf(
			"%s with dueAt %v, giveUpAt %v and expireAt %v", intent.State, intent.DueAt, intent.GiveUpAt, intent.ExpireAt,
		)
	}
	if intent.State != ledger.IntentBound {
		return nil
	}
	for _, w := range commit {
		if rec, ok := w.Data.(operation.Record); ok && rec.Key == intent.Operation &&
			w.Path == ledger.OperationPath(rec.Key) {
			if !rec.Registered || rec.CorrelationID != intent.CorrelationID {
				return fmt.Errorf(
					"bound to %s, which is registered: %v, with the id %q", rec.Key, rec.Registered, rec.CorrelationID,
				)
			}
			return nil
		}
	}
	return fmt.Errorf("bound to %s, whose record is not in the commit", intent.Operation)
}

// checkText returns an error for text that is not UTF-8, anywhere in v.
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
