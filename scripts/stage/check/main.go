// Command check says, before anything is deployed, what the settings in its environment would keep functions from starting for.
//
//	OPLEDGER_GRACE=soon go run ./scripts/stage/check webhook register reconcile effects
//
// It names the functions, or none for all four, and its environment is what they would be deployed with. It checks what the
// functions themselves check, with their code, and asks nobody: that a secret is there, and what is in it, only a deployed function
// sees. It knows the team's own handlers, since it links functions/effects.
//
// Where everything is well it prints nothing and exits with 0. Otherwise it prints every problem once on stderr and exits with 2;
// `go run` makes 1 of that. A variable that begins with OPLEDGER_ and that nothing reads is a problem here, though a deployed
// function only warns of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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
		"webhook": webhook.CheckSettings, "register": register.CheckSettings, "reconcile": reconcile.CheckSettings,
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
			problems = append(problems, fmt.Errorf("there is no function %s; the functions are %v", diag.Quote(function), all))
			continue
		}
		problems = append(problems, check(environ))
	}
	err := errors.Join(append(problems, config.Unread(environ))...)
	if err == nil {
		return 0
	}
	_, _ = io.WriteString(stderr, diag.Lines("check", err)) // there is nowhere else to say it
	return wrong
}
