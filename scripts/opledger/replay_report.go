package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/opledger/opledger/shared/operation"
)

// report says what was, or would be, run again.
func (d *replayDesk) report(lines []replayLine, published int) error {
	if d.asJSON {
		report := struct {
			Effects   []replayLine `json:"effects"`
			Published int          `json:"published"` // messages, in this process or to the topic
			Rerun     string       `json:"anew,omitempty"`
			Paused    bool         `json:"paused,omitempty"` // what was published here waits for the end of the pause
		}{append([]replayLine{}, lines...), published, d.nonce, d.paused}
		return printJSON(d.outside.out, report)
	}
	table := tabwriter.NewWriter(d.outside.out, 0, 0, 2, ' ', 0)
	var errs []error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(table, format, args...)
		errs = append(errs, err)
	}
	for _, line := range lines {
		say("%s\t%s\t%s\n", line.Operation, dash(line.Effect), line.Status)
	}
	switch {
	case len(lines) == 0:
		say("nothing to run again; what is done is run again with --anew\n")
	case published == 0:
		say("would run %s again; nothing was published\n", howMany(lines))
	case d.topic != "":
		say("published a message for each of %s; opledger show NAME shows what becomes of it\n", howMany(lines))
	case d.paused:
		say("paused by OPLEDGER_EFFECTS_PAUSED: took in %s; what is open runs when the pause ends, and serve sweeps\n", howMany(lines))
	default:
		say("%s\n", howManyRan(lines))
	}
	if published > 0 && d.nonce != "" {
		say("each is the run @%s of its effect; --anew=%[1]s again is the same run\n", d.nonce)
	}
	return errors.Join(append(errs, table.Flush())...)
}

// howManyRan says how many effects had an attempt in this process.
func howManyRan(lines []replayLine) string {
	var ran []replayLine
	for _, line := range lines {
		if line.ran {
			ran = append(ran, line)
		}
	}
	switch len(ran) {
	case 0:
		return "ran none of " + howMany(lines) + "; the log says why"
	case len(lines):
		return "ran " + howMany(ran) + ", once each; opledger show NAME shows what became of it"
	default:
		return fmt.Sprintf("ran %d of %s, once each; the log says why not the rest", len(ran), howMany(lines))
	}
}

// howMany counts effects and their operations in words.
func howMany(lines []replayLine) string {
	operations := map[operation.Key]bool{}
	for _, line := range lines {
		operations[line.Operation] = true
	}
	return counted(len(lines), "effect") + " of " + counted(len(operations), "operation")
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
