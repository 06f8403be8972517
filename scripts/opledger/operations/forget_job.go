package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

// check returns what is wrong with --results, before the ledger is opened, and finds job storage for it.
func (f *forgetting) check() error {
	if !f.results {
		return nil
	}
	if !f.name.IsJob() {
		return terminal.Usage(errors.New("--results: it is for a job, such as jobs/nightly-2026-11-23"))
	}
	settings, err := config.Parse[storageSettings](f.outside.Variables)
	where, storeErr := open.Find(f.outside)
	if err := errors.Join(err, storeErr); err != nil {
		return terminal.Usage(err)
	}
	f.storage, f.emulator = settings.Jobs.In(where.Store), settings.Emulator.Address
	return nil
}

// jobObjects are objects of a job in its storage.
type jobObjects struct {
	storage storage.Storage
	names   []string
}

// objects finds all objects of the job, if they are to be deleted: where its plan says that they are, or
// where this process has job storage, if the plan is gone. It refuses where Forget would, and where the storage
// may be another one, because the results are not in it.
func (f forgetting) objects(ctx context.Context, story ledger.Story) (objects jobObjects, err error) {
	if !f.results {
		return objects, nil
	}
	location := f.storage
	j, err := f.ledger.Jobs.Read(ctx, f.name.Key)
	planned := err == nil
	switch {
	case planned && (j.Phase != job.Ended || story.Record.Version > 0 && !story.Record.Settled()):
		return objects, ledger.ErrJobPending
	case planned:
		location = j.Storage
	case !errors.Is(err, ledger.ErrNoJob):
		return objects, err
	case location == "":
		return objects, fmt.Errorf("%w; OPLEDGER_JOB_STORAGE says where its results are", err)
	}
	for _, e := range story.Effects {
		if e.State == ledger.EffectClaimed && e.ClaimableAt.After(f.outside.Time()) {
			return objects, fmt.Errorf("%w: %s, until %s at the latest", ledger.ErrHeld, phrase.Safe(e.Name),
				phrase.LocalTime(e.ClaimableAt))
		}
	}
	if objects.storage, err = storage.Open(location, f.emulator); err != nil {
		return objects, err
	}
	for name, err := range objects.storage.Names(ctx, files.Folder(f.name.Key)) {
		if err != nil {
			return objects, fmt.Errorf("listing the objects of %s: %w", f.name.Key, err)
		}
		objects.names = append(objects.names, name)
	}
	return objects, objects.check(j.Job, planned, story)
}

// check refuses objects that are not those of a job that has ended. It puts its results last: as long as they
// are there, the same command goes on after an interruption.
func (o jobObjects) check(j job.Job, planned bool, story ledger.Story) error {
	isResults := func(name string) bool { return path.Base(name) == files.Results+".jsonl" }
	if planned && j.Output.Results.Name != "" {
		isResults = func(name string) bool { return name == j.Output.Results.Name }
	}
	slices.SortStableFunc(o.names, func(a, b string) int {
		return cmp.Compare(map[bool]int{true: 1}[isResults(a)], map[bool]int{true: 1}[isResults(b)])
	})
	switch there := slices.ContainsFunc(o.names, isResults); {
	case there:
		return nil
	case planned && j.Output.Results.Name != "":
		return fmt.Errorf("%w: there is no %s in %s; without --results the ledger's record alone is deleted",
			files.ErrMissing, j.Output.Results.Name, o.storage)
	case planned:
		return nil
	case len(o.names) > 0:
		return fmt.Errorf("this ledger has no plan of the job, and %s has no results.jsonl of it; it may be an unfinished "+
			"job of another ledger: delete its objects there", o.storage)
	case story.Record.Version == 0 && len(story.Effects)+len(story.Deliveries)+len(story.Broken) == 0:
		return ledger.ErrNotFound
	default:
		return nil
	}
}

// words says how many objects there are; nothing where none is to be deleted.
func (o jobObjects) words() string {
	if o.storage == nil {
		return ""
	}
	return fmt.Sprintf("; %s in %s", phrase.Counted(len(o.names), "object"), phrase.Safe(o.storage.String()))
}

// delete deletes them. The same command again goes on where it was interrupted.
func (o jobObjects) delete(ctx context.Context) error {
	for i, name := range o.names {
		if err := o.storage.Delete(ctx, name); err != nil {
			return fmt.Errorf("%d of %d objects deleted, then: %w; the same command goes on", i, len(o.names), err)
		}
	}
	return nil
}
