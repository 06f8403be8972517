// Command ask answers what shell scripts ask the code and the tables in infra/.
//
//	go run ./scripts/stage/ask tables
//	OPLEDGER_CONFIRM=always go run ./scripts/stage/ask needs
//	OPLEDGER_EFFECTS=[…] go run ./scripts/stage/ask masked
//	go run ./scripts/stage/ask watch OUT_DIR PROJECT DATABASE PREFIX REGION INTERVAL CHANNELS
//
// tables prints which settings there are and what reads them (settings.json), what the ledger needs of
// Firestore (firestore.json), who may do what (roles.json), and what watches (signals.json,
// platform.json). needs prints which functions ask Gemini with the settings in its environment: no
// other may read its API key; and which secrets effects name, which Effects alone reads. Terraform
// computes the same (infra/needs.tf). masked prints the effects without what looks like a secret in
// their URLs, for what is printed. watch writes the log-based metrics and alert policies, in the form of
// Google's APIs; CHANNELS are the full names of the notification channels, separated by white space.
//
// The exit code is 2 if the arguments or the settings cannot be used.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/stage/signals"
	"github.com/opledger/opledger/shared/diag"
)

const wrong = 2

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }

func run(args, environ []string, stdout, stderr io.Writer) int {
	question := strings.Join(args[:min(len(args), 1)], "")
	code, err := 1, error(nil)
	switch {
	case question == "tables" && len(args) == 1:
		err = inInfra(func(infra string) error { return tables(infra, stdout) })
	case question == "needs" && len(args) == 1:
		code, err = wrong, needs(environ, stdout)
	case question == "masked" && len(args) == 1:
		err = masked(environ, stdout)
	case question == "watch" && len(args) == 8:
		err = inInfra(func(infra string) error {
			every, err := time.ParseDuration(args[6])
			if err != nil {
				return fmt.Errorf("the interval of the schedule: %w", err)
			}
			return watch(infra, args[1], signals.Deployment{
				Project: args[2], Database: args[3], Prefix: args[4], Region: args[5], Interval: every,
				Channels: strings.Fields(args[7]),
			})
		})
	default:
		code = wrong
		err = fmt.Errorf("%s is no question; ask for tables, needs, masked or "+
			"watch OUT_DIR PROJECT DATABASE PREFIX REGION INTERVAL CHANNELS",
			diag.Quote(strings.Join(args, " ")))
	}
	if err == nil {
		return 0
	}
	_, _ = io.WriteString(stderr, diag.Lines("ask", err)) // stderr is the last place to report to
	return code
}

// inInfra calls answer with the folder infra of the source tree.
func inInfra(answer func(infra string) error) error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("finding the source tree: %w", err)
	}
	return answer(filepath.Join(strings.TrimSpace(string(module)), "infra"))
}
