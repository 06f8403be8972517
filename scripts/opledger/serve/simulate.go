package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// simulateHelp is what the help of serve says about --simulate.
const simulateHelp = "With --simulate no account is needed. A simulated Gemini runs what any SDK submits to it, for\n" +
	"some seconds: batches, videos and interactions, and the batches of jobs. It delivers signed webhooks here.\n" +
	"It prints what to export. Variables that name a real Gemini, ledger, topic or job storage are\n" +
	"ignored. The ledger is a temporary file, unless --store names a file; the objects of jobs are beside it.\n" +
	"--fault expired=1 forces a fault; an unknown name prints all names. --fault jobs/nightly:expired=1 does so\n" +
	"for the batches of one job. It may be given several times, and overrides --faults.\n\n"

// simulateFlags are the flags about the simulated Gemini.
type simulateFlags struct {
	on     bool
	port   int
	faults string
	forced []string // faults beside faults, each as --fault takes it
	speed  float64
}

// aboveServe is how far the simulator's port is above that of serve, unless it is given.
const aboveServe = 20 // 10 above is the console's own

func (f *simulateFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "simulate", false, "run a simulated Gemini in this process, for which no account is needed")
	flags.IntVar(&f.port, "simulate-port", 0,
		"port of the simulated Gemini, on loopback; 0 chooses a free one (default 20 above --port)")
	flags.StringVar(&f.faults, "faults", "none", "the faults of the simulated Gemini: none, normal or harsh")
	flags.StringArrayVar(&f.forced, "fault", nil,
		"a fault of the simulated Gemini as [JOB:]NAME=SHARE, such as expired=1; may be given several times")
	flags.Float64Var(&f.speed, "speed", 100,
		"how much faster than in production the simulated Gemini, grace, interval and leases are")
}

// check returns every problem of the flags. store is that of --store.
func (f *simulateFlags) check(cmd *cobra.Command, store string) error {
	var p diag.Problems
	for _, name := range []string{"simulate-port", "faults", "fault", "speed"} {
		p.When(!f.on && cmd.Flags().Changed(name), "--%s: it is for --simulate, which is not given", name)
	}
	if !f.on {
		return errors.Join(p...)
	}
	p.When(store != "" && !config.NamesFile(store), "--store: with --simulate it must be a file, such as sqlite:demo.db, "+
		"not %q: simulated operations do not belong in a deployment's ledger", store)
	p.When(f.port < 0 || f.port > 65535, "--simulate-port: it must be from 0 to 65535, not %d", f.port)
	p.When(f.speed < 1 || f.speed > 1000, "--speed: it must be from 1 to 1000, not %v", f.speed)
	_, _, err := f.plans()
	return errors.Join(append(p, err)...)
}

// address is where the simulator listens, for a serve that listens on main.
func (f *simulateFlags) address(cmd *cobra.Command, main *net.TCPAddr) string {
	port := f.port
	if !cmd.Flags().Changed("simulate-port") && main.Port != 0 {
		port = main.Port + aboveServe
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// A simulated Gemini, and what the settings say about it.
type simulated struct {
	url, keysURL string
	webhook      string // the address that it delivers to
	secret       string // which signs what it delivers
	store        string // where the ledger is, as --store takes it

	gemini *local.Gemini
	folder string // a temporary one, for the ledger, uploads and what to export
}

// start starts the simulator, which delivers to webhook. The ledger is a temporary one unless store
// names one. The result must be closed, after the ledger.
func (f *simulateFlags) start(ctx context.Context, address, webhook, store string) (simulated, error) {
	faults, ofJobs, err := f.plans()
	if err != nil {
		return simulated{}, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return simulated{}, fmt.Errorf("opening the port of the simulated Gemini: %w; choose another with --simulate-port",
			err)
	}
	folder, err := os.MkdirTemp("", "opledger-serve-")
	if err != nil {
		return simulated{}, errors.Join(fmt.Errorf("preparing the simulation: %w", err), listener.Close())
	}
	// The names must differ from those of an earlier run, whose ledger may be in the same file.
	gemini := local.StartGemini(geminisim.Config{
		Seed: rand.Uint64(), Faults: faults, Speed: f.speed, Folder: folder,
	}, listener)
	for job, plan := range ofJobs {
		gemini.SetFaults(job, plan)
	}
	s := simulated{
		url: gemini.URL, keysURL: gemini.KeysURL, webhook: webhook, gemini: gemini, folder: folder,
	}
	if s.secret, err = gemini.CreateWebhook(ctx, webhook); err != nil {
		return simulated{}, errors.Join(fmt.Errorf("preparing the simulation: %w", err), s.close())
	}
	where := config.Store{SQLite: filepath.Join(s.folder, "ledger.db")}
	if store != "" {
		err = where.UnmarshalText([]byte(store)) // it was checked
	}
	s.store = where.Absolute().String() // other processes get it, from any folder
	return s, err
}

// close ends the simulator, and removes the folder.
func (s simulated) close() error {
	s.gemini.Close()
	return os.RemoveAll(s.folder)
}

// writeExports writes a file for a shell that sets what other processes need, and returns its path.
// First it unsets what a terminal may have of a real deployment. It may hold secrets.
func (s simulated) writeExports(variables []string) (string, error) {
	path := filepath.Join(s.folder, "env")
	script := "unset " + strings.Join(replaced(), " ") + "\n" + export(variables) + "\n"
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return "", fmt.Errorf("writing what to export: %w", err)
	}
	return path, nil
}

// notStarted stands for a simulator when settings are checked before it is started.
var notStarted = simulated{
	url: "http://127.0.0.1:1", keysURL: "http://127.0.0.1:1" + geminisim.JWKSPath, webhook: "http://127.0.0.1:1/webhook",
	secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", store: "sqlite:simulated",
}

// replaced are the variables that --simulate sets or leaves out: with a real one of them simulated
// operations would reach another ledger, or real ones the simulated Gemini.
func replaced() []string {
	return []string{
		"GEMINI_API_KEY", "OPLEDGER_GEMINI_API_KEY_SECRET", "GOOGLE_GEMINI_BASE_URL", "OPLEDGER_WEBHOOK",
		"OPLEDGER_WEBHOOK_REENABLE", "OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_WEBHOOK_URL", "OPLEDGER_WEBHOOK_AUDIENCE",
		"OPLEDGER_WEBHOOK_ISSUER", "OPLEDGER_JWKS_URL", "OPLEDGER_STORE", "OPLEDGER_TOPIC", "OPLEDGER_JOB_STORAGE",
	}
}

// settings returns the variables of a process that works with the simulator. Durations that
// variables has are kept.
func (f *simulateFlags) settings(variables []string, with simulated) []string {
	faster := local.Faster(f.speed)
	kept := omit(faster, names(variables)...)
	return append(append(omit(variables, replaced()...), kept...),
		"GEMINI_API_KEY="+local.APIKey, "GOOGLE_GEMINI_BASE_URL="+with.url, "OPLEDGER_WEBHOOK_SECRET="+with.secret,
		"OPLEDGER_WEBHOOK_AUDIENCE="+with.webhook, "OPLEDGER_JWKS_URL="+with.keysURL, "OPLEDGER_STORE="+with.store)
}

// runTime is how long a simulated job takes.
func (f *simulateFlags) runTime() (least, most time.Duration) {
	divided := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) / f.speed).Round(time.Millisecond)
	}
	return divided(geminisim.LeastRunTime), divided(geminisim.MostRunTime)
}
