package open

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// OverrideFlag adds --override-settings to a command that writes.
func OverrideFlag(cmd *cobra.Command, outside *terminal.Environment) {
	cmd.Flags().BoolVar(&outside.Override, "override-settings", false,
		"write also where a variable that is set differs from what the ledger has stored")
}

// Settings returns the settings of a command on the ledger in store, and prints on stderr which
// effects may be planned: what is not set is what the ledger has stored [L7]. A setting that differs
// from that is an error where the command writes, unless it is to override it.
func Settings(
	ctx context.Context, outside terminal.Environment, store ledger.Store, set config.Ledger, writes bool,
) (config.Ledger, error) {
	settings, stored, err := WithStored(ctx, outside, store, set, writes)
	if err == nil {
		printEffectNames(outside, settings, stored)
	}
	return settings, err
}

// WithStored returns the settings of a command, and what the ledger has stored. Where that cannot be read,
// it is an error for a command that writes, as for Settings; any other is told so on stderr.
func WithStored(
	ctx context.Context, outside terminal.Environment, store ledger.Store, set config.Ledger, writes bool,
) (config.Ledger, ledger.StoredSettings, error) {
	refuses := writes && !outside.Override
	stored, err := ledger.ReadSettings(ctx, store)
	if err != nil && refuses {
		return set, stored, fmt.Errorf("%w; --override-settings does without it", err)
	}
	if err != nil {
		noteDefaults(outside, err)
		stored = ledger.StoredSettings{} // a part of it may have been read
	}
	settings, differs := set.With(stored, outside.Variables)
	switch {
	case differs == nil:
	case refuses:
		return set, stored, terminal.Usage(errors.Join(differs,
			fmt.Errorf("unset what differs, or pass --override-settings "+
				"to write all the same: the ledger has the settings of %s, stored at %s",
				phrase.Safe(stored.StoredBy), phrase.LocalTime(stored.StoredAt))))
	default:
		for line := range strings.SplitSeq(differs.Error(), "\n") {
			outside.Note("%s", line)
		}
	}
	return settings, stored, nil
}

// noteDefaults says on stderr that nothing was taken of what the ledger has stored, and why.
func noteDefaults(outside terminal.Environment, err error) {
	outside.Note("%v: what is set here counts, and the defaults", err)
}

// printEffectNames prints on stderr which effects a command may plan, and whose they are.
func printEffectNames(outside terminal.Environment, settings config.Ledger, stored ledger.StoredSettings) {
	line := "effects that may be planned: " + strings.Join(settings.EffectNames(), ", ")
	switch {
	case settings.Taken():
		line += fmt.Sprintf(" (as %s has stored them; they are run by it, not by this process)", phrase.Safe(stored.StoredBy))
	case settings.EffectsText == "":
		line += " (the default: OPLEDGER_EFFECTS is not set)"
	}
	outside.Note("%s", line)
}
