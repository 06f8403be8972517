// Command check reports, before a deployment, the settings in its environment that would keep functions
// from starting.
//
//	OPLEDGER_GRACE=soon go run ./scripts/stage/check webhook register reconcile effects
//
// Its arguments are the functions to check, by default all four; its environment is the one that they
// would be deployed with. It makes the checks of the functions, with their code, and calls no other
// system: only a deployed function can see whether a secret exists, and what is in it. It knows the
// team's own handlers, because it links functions/effects.
//
// If all settings are valid it exits with 0, and prints only a warning for each effect whose URL seems to
// hold a secret. Otherwise it prints every problem once
// on stderr and exits with 2, which `go run` turns into 1. A variable that begins with OPLEDGER_ and
// that no setting reads is a problem here, though a deployed function only warns of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/functions/reconcile"
	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stderr)) }

const wrong = 2

// run checks environ for the functions and returns the exit code.
func run(ctx context.Context, functions, environ []string, stderr io.Writer) int {
	checks := map[string]func([]string) error{
		"webhook": parse[webhook.Settings], "register": parse[register.Settings], "reconcile": parse[reconcile.Settings],
		"effects": func(environ []string) error { return effects.CheckSettings(ctx, environ) },
	}
	all := []string{"webhook", "register", "reconcile", "effects"}
	if len(functions) == 0 {
		functions = all
	}
	var problems []error
	for _, function := range functions {
		check, ok := checks[function]
		if !ok {
			problems = append(problems, fmt.Errorf("there is no function %s; it must be %s", diag.Quote(function),
				diag.OneOf(all)))
			continue
		}
		problems = append(problems, check(environ))
	}
	err := errors.Join(append(problems, config.Unread(environ))...)
	if err == nil {
		if slices.Contains(functions, "effects") {
			for _, problem := range diag.Split(effects.Warnings(environ)) {
				_, _ = fmt.Fprintf(stderr, "check: warning: %v\n", problem)
			}
		}
		return 0
	}
	_, _ = io.WriteString(stderr, diag.Lines("check", err)) // stderr is the last place to report to
	return wrong
}

// parse returns the problems that would keep a function with settings T from starting. It reads no secret.
func parse[T any](environ []string) error {
	_, err := config.Parse[T](environ)
	return err
}
