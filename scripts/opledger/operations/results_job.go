package operations

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// kindsOfResults are what --kind takes.
func kindsOfResults() []string { return []string{files.Results, files.Failed, files.Unmatched} }

// checkKind returns what is wrong with --kind and --merged, which only jobs have.
func checkKind(kind string, merged bool, name open.OperationName) error {
	switch {
	case !slices.Contains(kindsOfResults(), kind):
		return fmt.Errorf("--kind: it must be %s, not %s%s", diag.OneOf(kindsOfResults()), diag.Quote(kind),
			diag.DidYouMean(kind, kindsOfResults()))
	case kind != files.Results && !name.IsJob():
		return errors.New("--kind: it is for a job, such as jobs/nightly")
	case merged && !name.IsJob():
		return errors.New("--merged: it is for a job, such as jobs/nightly")
	case merged && kind != files.Results:
		return fmt.Errorf("--merged: it is for results; --kind %s prints those of one job", kind)
	}
	return nil
}

// storageSettings say where job storage is.
type storageSettings struct {
	Jobs     config.Jobs
	Emulator struct {
		Address string `env:"STORAGE_EMULATOR_HOST"` // of an emulated Cloud Storage, for tests
	}
}

// jobResults prints the lines of a kind of a job, and needs no API key.
func jobResults(ctx context.Context, outside terminal.Environment, key operation.Key, kind string) error {
	settings, r, err := open.Read[storageSettings](ctx, outside)
	if err != nil {
		return err
	}
	return errors.Join(open.WithRemedy(copyResults(ctx, outside, r, settings, key, kind), outside), r.Store.Close())
}

// copyResults prints lines of a job: all of them, or those that are final so far.
func copyResults(
	ctx context.Context, outside terminal.Environment, r open.Reading, settings storageSettings, key operation.Key,
	kind string,
) error {
	location := settings.Jobs.In(r.Where.Store)
	j, err := r.Jobs.Read(ctx, key)
	switch {
	case err == nil:
		location = j.Storage // where they are, whatever is set here
	case !errors.Is(err, ledger.ErrNoJob):
		return err
	case location == "":
		return err
	}
	s, err := storage.Open(location, settings.Emulator.Address)
	if err != nil {
		return fmt.Errorf("opening the job storage of %s: %w", key, err)
	}
	out := bufio.NewWriterSize(outside.Out, 256<<10)
	complete, err := files.Copy(ctx, r.Ledger, s, key, kind, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		if errors.Is(err, ledger.ErrNoJob) {
			return fmt.Errorf("there is no %s in the ledger, nor in %s: %w", key, s, ledger.ErrNoJob)
		}
		return terminal.Unread(fmt.Errorf("reading the results of %s: %w; what was printed is not whole: run it again", key,
			err))
	}
	if !complete && kind == files.Merged {
		return fmt.Errorf("%s or a job of its redrives has not ended: these are the lines that are final so far", key)
	}
	if !complete {
		return fmt.Errorf("%s has not ended: these are the lines that are final so far; opledger wait %s waits for the rest",
			key, phrase.ShellWord(string(key))+phrase.StoreFlag(r.Where.Named()))
	}
	return nil
}
