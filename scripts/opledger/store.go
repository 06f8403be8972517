package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/ledger/topic"
)

// storeFlag adds --store to a command.
func storeFlag(cmd *cobra.Command, text *string) {
	cmd.Flags().StringVar(text, "store", "", "where the ledger is: firestore[:DATABASE] or sqlite:PATH (default $OPLEDGER_STORE)")
}

// storeSettings is what finds the ledger.
type storeSettings struct {
	Project config.Project
	Where   config.StoreText
}

// parse reads the settings T of a command, and where the flag, or else the environment, says the ledger is. The error has
// every problem of both.
func parse[T any](outside environment, flag string) (T, place, error) {
	settings, err := config.Parse[T](outside.variables)
	where, placeErr := findStore(outside, flag)
	var topicErr error
	where.topic, topicErr = findTopic(outside)
	if err := errors.Join(err, placeErr, topicErr, checkHandlers(outside)); err != nil {
		return settings, where, usageError{err}
	}
	return settings, where, nil
}

// A place is where a ledger is.
type place struct {
	config.Store
	project string
	topic   string // where effects are published; empty: they are handed over inside the process
}

// findStore returns where the ledger is. Its error has the variables that nothing reads, too.
func findStore(outside environment, flag string) (place, error) {
	settings, err := config.Parse[storeSettings](outside.variables)
	unread := config.Unread(outside.variables)
	if err != nil {
		return place{}, errors.Join(err, unread)
	}
	variable, text := "OPLEDGER_STORE", settings.Where.Text
	if flag != "" {
		variable, text = "--store", flag
	}
	store, err := config.ParseStore(text, settings.Project)
	if err := errors.Join(prefixed(variable, err), unread); err != nil {
		return place{}, err
	}
	return place{Store: store, project: settings.Project.ID}, nil
}

// topicSettings is what finds the topic.
type topicSettings struct {
	Project config.Project
	Topic   config.OptionalTopic
}

// findTopic returns the topic that effects are published to, or nothing.
func findTopic(outside environment) (string, error) {
	settings, err := config.Parse[topicSettings](outside.variables)
	if err == nil && settings.Topic.Name != "" && settings.Project.ID == "" {
		err = errors.New("OPLEDGER_TOPIC: it needs GOOGLE_CLOUD_PROJECT to be set, the project that publishes to it")
	}
	return settings.Topic.Name, err
}

// handlerSettings is what finds the effects' handlers.
type handlerSettings struct {
	Project config.Project
	Ledger  config.Ledger
}

// checkHandlers returns what only shows with the effects' handlers. That the settings cannot be read is the command's to say.
func checkHandlers(outside environment) error {
	settings, _ := config.Parse[handlerSettings](outside.variables)
	return effects.CheckHandlers(context.Background(), settings.Ledger.Effects, settings.Project.ID)
}

// openStore opens the ledger's documents and says on stderr where they are. mustExist refuses to make a new file: a person
// who lists the ledger has mistyped its place.
func openStore(ctx context.Context, outside environment, place place, mustExist bool) (ledger.Store, error) {
	if _, err := fmt.Fprintln(outside.err, "opledger: the ledger is in "+place.Text); err != nil {
		return nil, fmt.Errorf("writing to stderr: %w", err)
	}
	if place.SQLite == "" {
		return firestore.Open(ctx, place.project, place.Database)
	}
	if mustExist {
		if err := place.exists(); err != nil {
			return nil, err
		}
	}
	return sqlite.Open(ctx, place.SQLite, time.Now)
}

// exists returns an error where the ledger's file is not there.
func (p place) exists() error {
	if p.SQLite == "" {
		return nil
	}
	if _, err := os.Stat(p.SQLite); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no ledger in %s; name its file with --store sqlite:PATH", p.SQLite)
	}
	return nil
}

// openReader opens a ledger for a person who only looks.
func openReader(ctx context.Context, outside environment, flag string) (*ledger.Ledger, func() error, error) {
	where, err := findStore(outside, flag)
	if err != nil {
		return nil, nil, usageError{err}
	}
	store, err := openStore(ctx, outside, where, true)
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return l, store.Close, nil
}

// openServer puts the functions over the store in where, and before its topic if it has one: it adds those to options. The
// returned function closes what it opened.
func openServer(
	ctx context.Context, outside environment, settings server.Settings, where place, options server.Options,
) (*server.Server, func() error, error) {
	store, err := openStore(ctx, outside, where, false)
	if err != nil {
		return nil, nil, err
	}
	closeAll := store.Close
	options.Store, options.Now = store, time.Now
	if file, ok := store.(*sqlite.Store); ok {
		options.Expire = file.Expire
	}
	if where.topic != "" {
		messages, err := topic.Open(ctx, where.project, where.topic)
		if err != nil {
			return nil, nil, errors.Join(err, store.Close())
		}
		options.Publisher = messages
		closeAll = func() error { return errors.Join(messages.Close(), store.Close()) }
	}
	s, err := server.New(ctx, settings, options)
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return s, func() error { return errors.Join(s.Close(), closeAll()) }, nil
}

// sayEffects says on stderr which effects a command may plan: one that is run without the settings of the others plans other
// effects than they do.
func sayEffects(outside environment, settings config.Ledger) {
	names := make([]string, len(settings.Effects))
	for i, effect := range settings.Effects {
		names[i] = effect.Name
	}
	line := "opledger: effects that may be planned: " + strings.Join(names, ", ")
	if settings.EffectsText == "" {
		line += " (the default: OPLEDGER_EFFECTS is not set)"
	}
	_, _ = fmt.Fprintln(outside.err, line)
}
