package serve

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
)

// ActionsFlag adds --allow-actions to a command that serves the console.
func ActionsFlag(cmd *cobra.Command, act *bool) {
	cmd.Flags().BoolVar(act, "allow-actions", false,
		"let the console's pages act on one operation or effect, as well as read; each action asks first")
}

// ActingOperator is who acts by the console's pages, unless a page says otherwise; empty without
// --allow-actions.
func ActingOperator(act bool) (string, error) {
	if !act {
		return "", nil
	}
	return terminal.OperatorName()
}

// openActing opens an existing ledger for a console that acts.
func openActing(ctx context.Context, outside terminal.Environment) (openedConsole, error) {
	settings, where, err := parseActing(outside)
	if err != nil {
		return openedConsole{}, err
	}
	operator, err := terminal.OperatorName()
	if err != nil {
		return openedConsole{}, err
	}
	s, err := open.Write(ctx, outside, settings, where, server.Options{Operator: operator})
	if err != nil {
		return openedConsole{}, err
	}
	return openedConsole{
		ledger: s.Ledger.Reading(), where: where, server: s.Server, close: s.Close,
		settings: consoleSettings{Ledger: s.Settings, Handlers: settings.Handlers},
	}, nil
}

// parseActing reads the settings of a console that acts. Only look-ups need those for Gemini.
func parseActing(outside terminal.Environment) (settings server.Settings, where open.Location, err error) {
	set := config.Variables(outside.Variables)
	if set["GEMINI_API_KEY"] != "" || set["OPLEDGER_GEMINI_API_KEY_SECRET"] != "" {
		var with open.PassSettings
		with, where, err = open.Parse[open.PassSettings](outside)
		settings = with.Server()
	} else {
		var with open.WriterSettings
		with, where, err = open.Parse[open.WriterSettings](outside)
		settings = with.Server()
	}
	if err == nil && !where.IsFile() && where.Topic == "" {
		err = terminal.Usage(open.ErrNoTopic)
	}
	return settings, where, err
}
