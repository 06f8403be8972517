package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
)

// StoreFlag adds --store to a command.
func StoreFlag(cmd *cobra.Command, outside *terminal.Environment) {
	cmd.Flags().StringVar(&outside.Store, "store", "",
		"where the ledger is: firestore[:DATABASE] or sqlite:PATH (default $OPLEDGER_STORE)")
	terminal.Selectors(cmd, "store")
}

// LedgerFlags adds what each command has that opens a ledger and prints.
func LedgerFlags(cmd *cobra.Command, outside *terminal.Environment) {
	StoreFlag(cmd, outside)
	terminal.JSONFlag(cmd, outside)
}

// WriterFlags adds what every command has that changes a ledger.
func WriterFlags(cmd *cobra.Command, outside *terminal.Environment) {
	LedgerFlags(cmd, outside)
	OverrideFlag(cmd, outside)
}

// storeSettings locate the ledger.
type storeSettings struct {
	Project config.Project
	Place   config.Place
}

// Parse reads the settings T of a command and locates the ledger, by the flag or else by the
// environment. The error holds every problem of both.
func Parse[T any](outside terminal.Environment) (T, Location, error) {
	settings, err := config.Parse[T](outside.Variables)
	where, storeErr := Find(outside)
	var topicErr error
	where.Topic, topicErr = findTopic(outside)
	if err := errors.Join(err, storeErr, topicErr, checkHandlers(settings)); err != nil {
		return settings, where, terminal.Usage(err)
	}
	return settings, where, nil
}

// A Location is where a ledger is.
type Location struct {
	config.Store
	project string
	Topic   string // where effects are published; empty: they are run inside the process
	// ReadOnly: a file is opened to be read alone, so that rights to read it are enough.
	ReadOnly bool
	flagged  bool // by --store of the command line
}

// Named is the --store of a command that is printed, so that it runs where it is pasted, in any folder. It is empty
// where the environment names the same ledger there.
func (l Location) Named() string {
	if absolute := l.Absolute(); l.flagged || absolute != l.Store {
		return absolute.String()
	}
	return ""
}

// NamedFlag is what commands end with that are printed: " --store" with what Named returns, or nothing.
func NamedFlag(outside terminal.Environment) string {
	where, err := Find(outside)
	if err != nil {
		return "" // the command itself says what is wrong
	}
	return phrase.StoreFlag(where.Named())
}

// Find locates the ledger. Its error also names the variables that no setting reads.
func Find(outside terminal.Environment) (Location, error) {
	variable, variables, flag := "OPLEDGER_STORE", outside.Variables, outside.Store
	if flag != "" {
		// The flag stands for the variable, whatever that is set to.
		variable = "--store"
		variables = slices.DeleteFunc(slices.Clone(variables), func(v string) bool {
			return strings.HasPrefix(v, "OPLEDGER_STORE=")
		})
	}
	settings, err := config.Parse[storeSettings](variables)
	unread := config.Unread(outside.Variables)
	if err != nil {
		return Location{}, errors.Join(err, unread)
	}
	store := settings.Place.Store
	if flag != "" {
		err = store.UnmarshalText([]byte(flag))
	}
	if err == nil {
		store, err = store.In(settings.Project)
	}
	if err := errors.Join(terminal.Prefixed(variable, err), unread); err != nil {
		return Location{}, err
	}
	return Location{Store: store, project: settings.Project.ID, flagged: flag != ""}, nil
}

// topicSettings locate the topic.
type topicSettings struct {
	Project config.Project
	Topic   config.OptionalTopic
}

// findTopic returns the topic that effects are published to, if there is one.
func findTopic(outside terminal.Environment) (string, error) {
	settings, err := config.Parse[topicSettings](outside.Variables)
	if err == nil && settings.Topic.Name != "" && settings.Project.ID == "" {
		err = errors.New("OPLEDGER_TOPIC: it needs GOOGLE_CLOUD_PROJECT to be set, the project that publishes to it")
	}
	return settings.Topic.Name, err
}

// checkHandlers returns the problems that show only once the effects' handlers are made, for a
// command with these settings, which have the groups Project and Ledger. Effects that the command does
// not use are checked too. Settings that cannot be read are reported by the command itself.
func checkHandlers(settings any) error {
	project := config.Group[config.Project](settings)
	planned := config.Group[config.Ledger](settings)
	return effects.CheckHandlers(context.Background(), planned.Effects, project.ID)
}

// exists returns an error if the ledger is a file that is missing.
func (l Location) exists() error {
	if !l.IsFile() {
		return nil
	}
	if _, err := os.Stat(l.SQLite); errors.Is(err, os.ErrNotExist) {
		return terminal.Unread(
			fmt.Errorf("there is no ledger in %s; name its file with --store sqlite:PATH, or make a new one "+
				"with opledger serve%s", l.SQLite, phrase.StoreFlag(l.Named())))
	}
	return nil
}

// ErrNoTopic: a deployed ledger's effects are run by the effects function alone.
var ErrNoTopic = errors.New(
	"OPLEDGER_TOPIC: it is not set; the effects function receives messages from that Pub/Sub topic")
