package commandtest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// EndTwice ends an operation, and ingests an event of another end after it.
func (f File) EndTwice(key operation.Key) {
	f.T.Helper()
	f.Settle(key, operation.Succeeded, operation.Result{})
	f.Reported(key, "other", operation.Failed)
}

// Reported ingests a delivery.
func (f File) Reported(key operation.Key, id string, state operation.State) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		name, err := operation.ParseName(string(key), "")
		if err != nil {
			return err
		}
		_, err = l.Operations.Ingest(ctx, operation.Event{
			Name: name, DeliveryID: id, Source: operation.Webhook, State: state, UpdateTime: time.Now(),
		})
		return err
	})
}

// MarkDead makes effects of the operations dead.
func (f File) MarkDead(names ...operation.Key) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, name := range names {
			grant, err := l.Effects.Claim(ctx, name, "log")
			if err == nil {
				err = l.Effects.MarkDead(ctx, grant.Lease, errors.New("the target said no"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Dead makes operations whose effect is dead.
func (f File) Dead(names ...string) {
	f.T.Helper()
	f.Register(names...)
	for _, name := range names {
		f.Settle(operation.Key(name), operation.Succeeded, operation.Result{})
		f.MarkDead(operation.Key(name))
	}
}

// Effects returns the effects of an operation, by name.
func (f File) Effects(key operation.Key) map[string]ledger.Effect {
	f.T.Helper()
	effects := map[string]ledger.Effect{}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		story, err := l.Operations.Show(ctx, key)
		for _, effect := range story.Effects {
			effects[effect.Name] = effect
		}
		return err
	})
	return effects
}

// DeadAlert makes a dead alert about what is no operation, and returns its name.
func (f File) DeadAlert(subject operation.Key) string {
	f.T.Helper()
	ctx := f.T.Context()
	store, err := sqlite.Open(ctx, f.Path, time.Now)
	if err != nil {
		f.T.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			f.T.Error(err)
		}
	}()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "page", Alerts: []ledger.Alert{ledger.AlertUnbound}}}
	var outbox harness.Outbox
	l, err := ledger.New(store, settings, ledger.Options{Publisher: &outbox})
	if err != nil {
		f.T.Fatal(err)
	}
	if _, err := l.Passes.AlertAbout(ctx, subject, ledger.AlertUnbound, time.Now(), "nothing came of it"); err != nil {
		f.T.Fatal(err)
	}
	name := outbox.Drain()[0].Effect
	grant, err := l.Effects.Claim(ctx, subject, name)
	if err == nil {
		err = l.Effects.MarkDead(ctx, grant.Lease, errors.New("no answer"))
	}
	if err != nil {
		f.T.Fatal(err)
	}
	return name
}

// File is a ledger of the test's own.
type File struct {
	T    *testing.T
	Path string
}

// NewFile names a ledger that is not there yet.
func NewFile(t *testing.T) File { return File{t, filepath.Join(t.TempDir(), "ledger.db")} }

// Store is what --store and OPLEDGER_STORE take.
func (f File) Store() string { return "sqlite:" + f.Path }

// With works on the file's ledger, whose one rule plans the effect "log". It is made if it is not
// there.
func (f File) With(do func(context.Context, *ledger.Ledger) error) {
	f.T.Helper()
	f.Ago(0, do)
}

// Ago is with by a clock that is so much behind.
func (f File) Ago(behind time.Duration, do func(context.Context, *ledger.Ledger) error) {
	f.T.Helper()
	ctx := f.T.Context()
	store, err := sqlite.Open(ctx, f.Path, func() time.Time { return time.Now().Add(-behind) })
	if err != nil {
		f.T.Fatal(err)
	}
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "log", On: []operation.State{operation.Succeeded, operation.Failed}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err == nil {
		err = do(ctx, l)
	}
	if err != nil {
		f.T.Error(err)
	}
	if err := store.Close(); err != nil {
		f.T.Error(err)
	}
}

// Empty makes the ledger, without a document in it.
func (f File) Empty() {
	f.T.Helper()
	f.With(func(context.Context, *ledger.Ledger) error { return nil })
}

// Register records operations, in this order.
func (f File) Register(names ...string) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, text := range names {
			name, err := operation.ParseName(text, "")
			if err == nil {
				_, err = l.Operations.Register(ctx,
					ledger.Registration{Name: name, Submission: operation.Submission{JobKind: "test"}})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Settle takes in the end of an operation.
func (f File) Settle(key operation.Key, state operation.State, result operation.Result) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Operations.Ingest(ctx, operation.Event{
			Name: operation.Name{Key: key, Resource: string(key)}, DeliveryID: "msg_" + key.ID(), Source: operation.Webhook,
			Type: "batch." + strings.ToLower(string(state)), State: state, UpdateTime: time.Now(), Result: result,
		})
		return err
	})
}
