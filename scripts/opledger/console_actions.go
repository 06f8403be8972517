package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/server"
)

// actionsFlag adds --allow-actions to a command that serves the console.
func actionsFlag(cmd *cobra.Command, act *bool) {
	cmd.Flags().BoolVar(act, "allow-actions", false,
		"let the console's pages act on one operation or effect, as well as read; each action asks first")
}

// actingOperator is who acts by the console's pages, unless a page says otherwise; empty without
// --allow-actions.
func actingOperator(act bool) (string, error) {
	if !act {
		return "", nil
	}
	return operatorName()
}

// openActing opens an existing ledger for a console that acts.
func openActing(ctx context.Context, outside environment, store string) (openedConsole, error) {
	settings, where, err := parseActing(outside, store)
	if err != nil {
		return openedConsole{}, err
	}
	operator, err := operatorName()
	if err != nil {
		return openedConsole{}, err
	}
	s, err := openWriter(ctx, outside, settings, where, server.Options{Operator: operator})
	if err != nil {
		return openedConsole{}, err
	}
	return openedConsole{
		ledger: s.Ledger.Reading(), where: where, server: s.Server, close: s.close,
		settings: consoleSettings{Ledger: s.settings, Handlers: settings.Handlers},
	}, nil
}

// parseActing reads the settings of a console that acts. Only look-ups need those for Gemini.
func parseActing(outside environment, store string) (settings server.Settings, where location, err error) {
	if slices.ContainsFunc(outside.variables, namesGeminiKey) {
		var with reconcileSettings
		with, where, err = parse[reconcileSettings](outside, store)
		settings = with.server()
	} else {
		var with writerSettings
		with, where, err = parse[writerSettings](outside, store)
		settings = with.server()
	}
	if err == nil && !where.IsFile() && where.topic == "" {
		err = usageError{errNoTopic}
	}
	return settings, where, err
}

// namesGeminiKey reports whether a variable is set that holds or names the API key.
func namesGeminiKey(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	return value != "" && (name == "GEMINI_API_KEY" || name == "OPLEDGER_GEMINI_API_KEY_SECRET")
}
