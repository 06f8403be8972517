package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A replayRun is what one call of replay does, or several that continue each other in a journal.
type replayRun struct {
	// Ledger and Words say which replay it is: a journal continues no other.
	Ledger string    `json:"ledger"`
	Words  []string  `json:"words"`
	Began  time.Time `json:"began"` // by the store's clock
	By     string    `json:"by"`
	Nonce  string    `json:"rerun,omitempty"`

	targets []replayTarget
	sent    int // messages for the first of the targets
}

// replayWords are what a command line says about the choice of effects.
func replayWords(cmd *cobra.Command, args []string) []string {
	words := slices.Clone(args)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "by", "dry-run", "journal", "json", "no-wait", "store", "timeout", "yes":
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

// A journal keeps a replayRun in a file of JSON lines: the run, each of its targets, and then a line
// for each message. The zero journal keeps nothing.
type journal struct {
	path string
	file *os.File
}

// A journalLine is one line of a journal; one of its fields is set.
type journalLine struct {
	Run    *replayRun    `json:"replay,omitempty"`
	Target *replayTarget `json:"target,omitempty"`
	Sent   int           `json:"sent,omitempty"`
}

// readJournal returns the run that a journal holds, or nil where there is no such file.
func readJournal(path string) (*replayRun, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // opened for reading
	var run *replayRun
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line journalLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			break // the process died while it wrote the last one
		}
		switch {
		case line.Run != nil:
			run = line.Run
		case run == nil:
			return nil, fmt.Errorf("%s is no journal of a replay; name another file", path)
		case line.Target != nil:
			run.targets = append(run.targets, *line.Target)
		default:
			run.sent = line.Sent
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if run == nil || run.sent > len(run.targets) {
		return nil, fmt.Errorf("%s is no journal of a replay; name another file", path)
	}
	return run, nil
}

// begin writes the journal of a run. It takes its name when it is whole: one without some of the
// targets would drop them.
func (j *journal) begin(run *replayRun) error {
	if j.path == "" {
		return nil
	}
	part := j.path + ".part"
	file, err := os.Create(part)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	err = encoder.Encode(journalLine{Run: run})
	for i := range run.targets {
		err = errors.Join(err, encoder.Encode(journalLine{Target: &run.targets[i]}))
	}
	err = errors.Join(err, encoder.Encode(journalLine{Sent: run.sent}), out.Flush(), file.Sync())
	if err == nil {
		err = os.Rename(part, j.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(part))
	}
	j.file = file
	return nil
}

// wrote records that so many messages were sent.
func (j *journal) wrote(sent int) error {
	if j.file == nil {
		return nil
	}
	return json.NewEncoder(j.file).Encode(journalLine{Sent: sent})
}

// end closes the journal, and removes it where the run is over.
func (j *journal) end(over bool) error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	if over {
		err = errors.Join(err, os.Remove(j.path))
	}
	return err
}
