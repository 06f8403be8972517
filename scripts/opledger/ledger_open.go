package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/ledger/topic"
	"github.com/opledger/opledger/shared/logging"
)

// openStore opens the ledger's documents and prints on stderr where they are. With mustExist it
// makes no new file: a command on a ledger was given the wrong path.
func openStore(
	ctx context.Context, outside environment, where location, mustExist bool,
) (store ledger.Store, err error) {
	defer func() { err = unread(err) }()
	outside.note("the ledger is in %s", where)
	if !where.IsFile() {
		return firestore.Open(ctx, where.project, where.Database)
	}
	if mustExist {
		if err := where.exists(); err != nil {
			return nil, err
		}
	}
	if where.readOnly {
		return sqlite.OpenReader(ctx, where.SQLite, time.Now)
	}
	return sqlite.Open(ctx, where.SQLite, time.Now)
}

// openReader opens an existing ledger for a command that changes nothing. The returned function closes
// it.
func openReader(ctx context.Context, outside environment, flag string) (*ledger.Ledger, func() error, error) {
	return openLedger(ctx, outside, flag, true)
}

// openLedger opens an existing ledger for a command that plans no effects, perhaps to read it alone.
// The returned function closes it.
func openLedger(
	ctx context.Context, outside environment, flag string, readOnly bool,
) (*ledger.Ledger, func() error, error) {
	store, _, err := openFound(ctx, outside, flag, readOnly)
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return l, store.Close, nil
}

// openFound opens an existing ledger's documents.
func openFound(
	ctx context.Context, outside environment, flag string, readOnly bool,
) (store ledger.Store, where location, err error) {
	if where, err = findStore(outside, flag); err != nil {
		return nil, where, usageError{err}
	}
	where.readOnly = readOnly
	store, err = openStore(ctx, outside, where, true)
	return store, where, err
}

// A reading is an existing ledger that is only read.
type reading struct {
	*ledger.Ledger
	store ledger.Store
	where location
}

// openReading is openReader for a command with settings T: what is not set is what the ledger has stored
// [L7]. Close its store.
func openReading[T any](ctx context.Context, outside environment, flag string) (settings T, r reading, err error) {
	if settings, err = config.Parse[T](outside.variables); err != nil {
		return settings, r, usageError{err}
	}
	if r.store, r.where, err = openFound(ctx, outside, flag, true); err != nil {
		return settings, r, err
	}
	stored, err := ledger.ReadSettings(ctx, r.store)
	if adopted, adoptErr := config.Parse[T](config.Adopt(outside.variables, stored)); err == nil && adoptErr == nil {
		settings = adopted
	} else {
		outside.note("%v: what is set here counts, and the defaults", cmp.Or(err, adoptErr))
	}
	if r.Ledger, err = ledger.New(r.store, ledger.DefaultSettings(), ledger.Options{}); err != nil {
		return settings, r, errors.Join(err, r.store.Close())
	}
	return settings, r, nil
}

// openWriter is openServer for a command on an existing ledger: what is not set is what the ledger has
// stored [L7]. Effects whose rules alone are stored are left to the workers of serve.
func openWriter(
	ctx context.Context, outside environment, settings server.Settings, where location, options server.Options,
) (writer, error) {
	store, err := openStore(ctx, outside, where, true)
	if err != nil {
		return writer{}, err
	}
	settings.Ledger, err = ledgerSettings(ctx, outside, store, settings.Ledger, !where.readOnly)
	if err != nil {
		return writer{}, errors.Join(err, store.Close())
	}
	options.Log, options.FollowPause = logging.New(outside.err, ""), true
	left := settings.Ledger.Taken() && where.topic == ""
	if left {
		options.Wake = func(ctx context.Context) error {
			_, err := where.askServe(ctx, "/sweep")
			if err != nil {
				outside.note("%v: what is open here waits for its next sweep, at its start or at its interval", err)
			}
			return err
		}
	}
	w, err := serverOver(ctx, outside, store, settings, where, options)
	w.left, w.settings = left, settings.Ledger
	return w, err
}

// openServer makes the functions over the store and the topic of a location, and adds both to
// options.
func openServer(
	ctx context.Context, outside environment, settings server.Settings, where location, options server.Options,
) (writer, error) {
	store, err := openStore(ctx, outside, where, false)
	if err != nil {
		return writer{}, err
	}
	return serverOver(ctx, outside, store, settings, where, options)
}

// serverOver is openServer over an opened store, which it closes.
func serverOver(
	ctx context.Context, outside environment, store ledger.Store, settings server.Settings, where location,
	options server.Options,
) (writer, error) {
	closeAll := store.Close
	options.Store, options.Now = store, time.Now
	if file, ok := store.(*sqlite.Store); ok {
		options.Expire, options.Ready, options.InPlace = file.Expire, file.Ready, file.InPlace
	}
	if where.topic != "" {
		messages, err := topic.Open(ctx, where.project, where.topic)
		if err != nil {
			return writer{}, errors.Join(err, store.Close())
		}
		options.Publisher, options.Topic = messages, where.topic
		closeAll = func() error { return errors.Join(messages.Close(), store.Close()) }
	}
	options.FollowPause = options.FollowPause && followsPause(outside, where)
	s, err := server.New(ctx, settings, options)
	if err != nil {
		return writer{}, errors.Join(err, closeAll())
	}
	w := writer{Server: s, close: func() error { return errors.Join(s.Close(), closeAll()) }}
	if where.topic == "" {
		if w.paused, err = s.Paused(ctx); err != nil {
			return writer{}, errors.Join(err, w.close())
		}
	}
	if w.paused && options.FollowPause {
		outside.note(pauseNote)
	}
	return w, nil
}

// writerSettings are the settings of a command that changes the ledger: no webhook, and Gemini only
// for effects that run once per item.
type writerSettings struct {
	Project  config.Project
	Ledger   config.Ledger
	Handlers config.Handlers
	Results  config.Results
}

// A writer is a ledger that a command changes. Effects that it plans are run by Drain, or
// published.
type writer struct {
	*server.Server
	close  func() error // of all that was opened
	paused bool         // effects were not run in this process when it was opened, only accepted
	left   bool         // effects are not run in this process, but by serve
	// settings are those of the command, with what the ledger has stored.
	settings config.Ledger
}

// server are the settings as those of the functions.
func (s writerSettings) server() server.Settings {
	return server.Settings{Project: s.Project, Ledger: s.Ledger, Handlers: s.Handlers, Results: s.Results}
}

// newWriter opens the ledger with the settings of the functions, and prints on stderr which effects
// may be planned.
func newWriter(ctx context.Context, outside environment, where location, settings writerSettings) (writer, error) {
	return openWriter(ctx, outside, settings.server(), where, server.Options{})
}

// do calls change, runs the effects that were planned in the process, and closes the ledger.
func (w writer) do(ctx context.Context, change func() error) error {
	err := change()
	w.Drain(ctx) // also after an error: effects may have been planned before it
	return errors.Join(err, w.close())
}

// change opens an existing ledger for do, and closes it.
func change(ctx context.Context, outside environment, flag string, do func(writer) error) error {
	settings, where, err := parse[writerSettings](outside, flag)
	if err != nil {
		return err
	}
	w, err := newWriter(ctx, outside, where, settings)
	if err != nil {
		return err
	}
	return w.do(ctx, func() error { return do(w) })
}
