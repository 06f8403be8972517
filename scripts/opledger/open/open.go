// Package open finds and opens the ledger of a command: by its flag and the settings (location.go), with what
// the ledger itself has stored (settings.go), to read or to change. It also finds operations there by what
// was typed (operation_name.go, filter.go), and says which command helps after an error (remedies.go).
package open

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/ledger/topic"
	"github.com/opledger/opledger/shared/logging"
)

// Store opens the ledger's documents and prints on stderr where they are. With mustExist it
// makes no new file: a command on a ledger was given the wrong path.
func Store(
	ctx context.Context, outside terminal.Environment, where Location, mustExist bool,
) (store ledger.Store, err error) {
	defer func() { err = terminal.Unread(err) }()
	outside.Note("the ledger is in %s", where)
	if !where.IsFile() {
		return firestore.Open(ctx, where.project, where.Database)
	}
	if mustExist {
		if err := where.exists(); err != nil {
			return nil, err
		}
	}
	if where.ReadOnly {
		return sqlite.OpenReader(ctx, where.SQLite, time.Now)
	}
	return sqlite.Open(ctx, where.SQLite, time.Now)
}

// Reader opens an existing ledger for do, which changes nothing, and closes it.
func Reader(ctx context.Context, outside terminal.Environment, do func(*ledger.Ledger) error) error {
	return Ledger(ctx, outside, true, do)
}

// Ledger opens an existing ledger for do, which plans no effects and perhaps only reads, and closes it.
// An error of do says which command helps.
func Ledger(ctx context.Context, outside terminal.Environment, readOnly bool, do func(*ledger.Ledger) error) error {
	_, r, err := unplanned[struct{}](ctx, outside, readOnly)
	if err != nil {
		return err
	}
	return errors.Join(WithRemedy(do(r.Ledger), outside), r.Store.Close())
}

// A Reading is an existing ledger that is only read.
type Reading struct {
	*ledger.Ledger
	Store ledger.Store
	Where Location
	// Rules are the names of the effects that the process which began last can perform; nil: none has stored them.
	Rules []string
}

// Read opens an existing ledger for a command with settings T that changes nothing: what is not set is
// what the ledger has stored [L7]. Close its store.
func Read[T any](ctx context.Context, outside terminal.Environment) (T, Reading, error) {
	return unplanned[T](ctx, outside, true)
}

// unplanned opens an existing ledger for a command that plans no effects, with settings T. Of these what is
// not set is what the ledger has stored. What is late the ledger's own settings decide, by which it alerts
// and its index is made, whatever is set here [L7].
func unplanned[T any](
	ctx context.Context, outside terminal.Environment, readOnly bool,
) (settings T, r Reading, err error) {
	settings, err = config.Parse[T](outside.Variables)
	late, lateErr := parseLate(outside.Variables)
	if err := cmp.Or(err, lateErr); err != nil {
		return settings, r, terminal.Usage(err)
	}
	if r.Where, err = Find(outside); err != nil {
		return settings, r, terminal.Usage(err)
	}
	r.Where.ReadOnly = readOnly
	if r.Store, err = Store(ctx, outside, r.Where, true); err != nil {
		return settings, r, err
	}
	stored, err := ledger.ReadSettings(ctx, r.Store)
	adopted, adoptErr := config.Parse[T](config.Adopt(outside.Variables, stored))
	own, lateErr := parseLate(config.Adopt(nil, stored))
	switch err := cmp.Or(err, adoptErr, lateErr); {
	case err != nil:
		noteDefaults(outside, err)
	case stored.IsZero():
	default:
		r.Rules = stored.RuleNames()
		if set := late.StuckAfter; set != nil && !reflect.DeepEqual(late, own) {
			outside.Note("OPLEDGER_STUCK_AFTER: it is %v here; what the ledger has stored decides what is late", *set)
		}
		settings, late = adopted, own
	}
	if r.Ledger, err = ledger.New(r.Store, late.Settings(), ledger.Options{}); err != nil {
		return settings, r, errors.Join(err, r.Store.Close())
	}
	return settings, r, nil
}

// parseLate reads when an operation is late.
func parseLate(environ []string) (config.Lateness, error) {
	late, err := config.Parse[struct{ config.Lateness }](environ)
	return late.Lateness, err
}

// Write opens an existing ledger for a command that changes it: what is not set is what the ledger has
// stored [L7]. Effects whose rules alone are stored are left to the workers of serve, and so are the steps of jobs
// where the command has no API key.
func Write(
	ctx context.Context, outside terminal.Environment, settings server.Settings, where Location, options server.Options,
) (Writer, error) {
	store, err := Store(ctx, outside, where, true)
	if err != nil {
		return Writer{}, err
	}
	settings.Ledger, err = Settings(ctx, outside, store, settings.Ledger, !where.ReadOnly)
	if err != nil {
		return Writer{}, errors.Join(err, store.Close())
	}
	options.Log, options.FollowPause, options.StoreFlag = logging.New(outside.Err, ""), true, where.Named()
	options.WakeForSteps = func(ctx context.Context) error {
		err := where.AskServe(ctx, "/sweep", nil, nil)
		if err != nil {
			outside.Note("%v: open effects here wait for its next sweep, at its start or at its interval", err)
		}
		return err
	}
	left := settings.Ledger.Taken() && where.Topic == ""
	if left {
		options.Wake = options.WakeForSteps
		settings.Handlers.Paused = false // the pause of serve counts
		if setsPause(outside) {
			outside.Note("%s", ownPauseNote)
		}
	}
	w, err := serverOver(ctx, outside, store, settings, where, options)
	w.Left, w.Settings = left, settings.Ledger
	return w, err
}

// Server makes the functions over the store and the topic of a location, and adds both to
// options.
func Server(
	ctx context.Context, outside terminal.Environment, settings server.Settings, where Location, options server.Options,
) (Writer, error) {
	store, err := Store(ctx, outside, where, false)
	if err != nil {
		return Writer{}, err
	}
	return serverOver(ctx, outside, store, settings, where, options)
}

// serverOver is Server over an opened store, which it closes.
func serverOver(
	ctx context.Context, outside terminal.Environment, store ledger.Store, settings server.Settings, where Location,
	options server.Options,
) (Writer, error) {
	closeAll := store.Close
	options.Store, options.Now, options.Location = store, time.Now, where.Store
	if file, ok := store.(*sqlite.Store); ok {
		options.Expire, options.Ready, options.InPlace = file.Expire, file.Ready, file.InPlace
	}
	if where.Topic != "" {
		messages, err := topic.Open(ctx, where.project, where.Topic)
		if err != nil {
			return Writer{}, errors.Join(err, store.Close())
		}
		options.Publisher, options.Topic = messages, where.Topic
		closeAll = func() error { return errors.Join(messages.Close(), store.Close()) }
	}
	left := options.Wake != nil
	options.FollowPause = options.FollowPause && followsPause(outside, where, left)
	s, err := server.New(ctx, settings, options)
	if err != nil {
		return Writer{}, errors.Join(err, closeAll())
	}
	w := Writer{Server: s, Close: func() error { return errors.Join(s.Close(), closeAll()) }}
	if where.Topic == "" {
		if w.Paused, err = s.Paused(ctx); err != nil {
			return Writer{}, errors.Join(err, w.Close())
		}
	}
	if w.Paused && options.FollowPause {
		outside.Note("%s", pauseNote(where, left))
	}
	return w, nil
}

// WriterSettings are the settings of a command that changes the ledger: no webhook, and Gemini only
// for effects that run once per item.
type WriterSettings struct {
	Project  config.Project
	Ledger   config.Ledger
	Handlers config.Handlers
	Results  config.Results
	Jobs     config.Jobs
}

// A Writer is a ledger that a command changes. Effects that it plans are run by Drain, or
// published.
type Writer struct {
	*server.Server
	Close  func() error // of all that was opened
	Paused bool         // effects were not run in this process when it was opened, only accepted
	Left   bool         // effects are not run in this process, but by serve
	// Settings are those of the command, with what the ledger has stored.
	Settings config.Ledger
}

// Server are the settings as those of the functions.
func (s WriterSettings) Server() server.Settings {
	return server.Settings{
		Project: s.Project, Ledger: s.Ledger, Handlers: s.Handlers, Results: s.Results, Jobs: s.Jobs,
	}
}

// Do calls change, runs the effects that were planned in the process, and closes the ledger.
func (w Writer) Do(ctx context.Context, change func() error) error {
	err := change()
	w.Drain(ctx) // also after an error: effects may have been planned before it
	return errors.Join(err, w.Close())
}

// Change opens an existing ledger for do, and closes it.
func Change(ctx context.Context, outside terminal.Environment, do func(Writer) error) error {
	settings, where, err := Parse[WriterSettings](outside)
	if err != nil {
		return err
	}
	return change(ctx, outside, settings.Server(), where, do)
}

// ChangeAtGemini is Change for a command that asks Gemini, too: it needs an API key. unasked is why no
// serve did it in its place; nil: none was to.
func ChangeAtGemini(ctx context.Context, outside terminal.Environment, unasked error, do func(Writer) error) error {
	settings, where, err := parsePass(outside, unasked)
	if err != nil {
		return err
	}
	return change(ctx, outside, settings.Server(), where, do)
}

func change(
	ctx context.Context, outside terminal.Environment, settings server.Settings, where Location, do func(Writer) error,
) error {
	w, err := Write(ctx, outside, settings, where, server.Options{})
	if err != nil {
		return err
	}
	return w.Do(ctx, func() error { return do(w) })
}
