// Command load measures how many signed deliveries `opledger serve` takes in on SQLite:
//
//	go run ./test/load [--callers 1,16,64] [--duration 3s] [--rounds 3]
//
// It starts serve on a file in a temporary directory, and beside it two handlers of the functions
// framework that verify nothing: a bare one that only reads and answers, and one that makes one bare
// commit of the same documents, to a file of its own. Each is a process of its own, and all get the
// same signed requests in turn, in rounds, so that a change of the machine's speed meets them all:
//
//	distinct    each delivery is the first about its operation: its record and itself are written
//	duplicate   the same delivery again: nothing is written
//	hot         deliveries of one operation with nothing new: each leaves itself
//
// The callers share the machine with the servers, so the ratios count and not the rates. The last column
// is the processor time of the server for each delivery, which other work on the machine changes least.
// Each answer is checked; a wrong one ends the run.
//
// With jobs as its first argument it measures jobs:
//
//	go run ./test/load jobs [--compared 100000x200,2000x1000000] [--alone 1000000x200] [--rounds 3]
//
// The command submit job, and serve with job storage in a folder, do a job against a simulated Gemini, which is
// a process of its own, with its files on disk. Two plain programs do the same work, each against a fresh
// simulator: one reads only the results, the other its requests' keys, too. The processor time is that of the
// programs alone. Each output is checked: it has each key once, with the answer to it. A batch runs for one to two
// seconds, unless --shortest and --longest say otherwise.
//
// With night it plays a night of one job, of many times the tokens that Gemini takes at once:
//
//	go run ./test/load night [--requests 2000000] [--quota 3000000] [--told TOKENS] [--speed 200]
//
// Batches run from 20 minutes to an hour, and all durations are divided by the speed, those of serve, too. It says
// how much of the quota was used while work waited, and how often Gemini answered 429. With --told opledger is told
// another quota than Gemini has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "load:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// A plan is how long what is measured, and with how many callers.
type plan struct {
	callers  []int
	duration time.Duration // of each measurement, over all rounds
	rounds   int
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) > 0 && args[0] == "jobs" {
		return runJobs(ctx, args[1:], out)
	}
	if len(args) > 0 && args[0] == "night" {
		return runNight(ctx, args[1:], out)
	}
	p, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "opledger-load-")
	if err != nil {
		return fmt.Errorf("making a directory for the ledgers: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	targets, stop, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	return p.measure(ctx, targets, out)
}

// parse reads the flags. The error names each one that is wrong.
func parse(args []string) (plan, error) {
	var p plan
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	callers := flags.String("callers", "1,16,64", "numbers of callers at a time, separated by commas")
	flags.DurationVar(&p.duration, "duration", 3*time.Second,
		"how long each kind of delivery is sent by each number of callers")
	flags.IntVar(&p.rounds, "rounds", 3, "in how many rounds, which take turns")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	var problems []error
	for text := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			problems = append(problems, fmt.Errorf("--callers: %q is no number of callers, such as 16", text))
		}
		p.callers = append(p.callers, n)
	}
	if p.duration <= 0 {
		problems = append(problems, fmt.Errorf("--duration: %v is not positive", p.duration))
	}
	if p.rounds < 1 {
		problems = append(problems, fmt.Errorf("--rounds: %d is not positive", p.rounds))
	}
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("%q is no flag", flags.Args()))
	}
	return p, errors.Join(problems...)
}
