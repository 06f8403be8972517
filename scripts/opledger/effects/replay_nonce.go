package effects

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// newNonce is the value of --rerun without one: --help prints it.
const newNonce = "NONCE"

// A nonceFlag is the value of --rerun[=NONCE]. Of a text pflag would print the nonce in quotes.
type nonceFlag string

func (n *nonceFlag) String() string { return string(*n) }
func (n *nonceFlag) Type() string   { return "nonce" }

func (n *nonceFlag) Set(text string) error {
	*n = nonceFlag(text)
	return nil
}

// rerunFlag adds --rerun[=NONCE].
func rerunFlag(cmd *cobra.Command, nonce *nonceFlag) {
	cmd.Flags().Var(nonce, "rerun", "``run done effects, too, as runs of their own; the same NONCE always means the same "+
		"run (default a new one)")
	cmd.Flags().Lookup("rerun").NoOptDefVal = newNonce
}

// chooseNonce returns the nonce of the runs that --rerun asks for; without the flag there is none.
func chooseNonce(rerun bool, nonce nonceFlag) (string, error) {
	switch {
	case !rerun:
		return "", nil
	case nonce == newNonce:
		return actions.NewNonce(time.Now()), nil
	case nonce == "":
		return "", errors.New("--rerun: the nonce is empty; leave it out to get a new one")
	}
	return string(nonce), terminal.Prefixed("--rerun", ledger.CheckNonce(string(nonce)))
}

// replayArgs accepts at most one name. A second argument after --rerun is most likely its nonce.
func replayArgs(cmd *cobra.Command, args []string) error {
	rerun := cmd.Flags().Lookup("rerun")
	if len(args) == 2 && rerun.Changed && rerun.Value.String() == newNonce {
		for _, arg := range args {
			if ledger.CheckNonce(arg) == nil {
				return terminal.Usage(fmt.Errorf("--rerun: its nonce follows an equals sign; write --rerun=%s", arg))
			}
		}
	}
	return terminal.Args(cobra.MaximumNArgs(1))(cmd, args)
}
