package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// A localStore is where a run keeps its ledger.
type localStore struct {
	access    string       // how to inspect it while it exists
	where     config.Store // its name on the console's pages
	flag      string       // the --store that opens it; empty: no command can
	store     ledger.Store
	publisher ledger.Publisher // nil: effects are run inside the process
	jobs      string           // the location of its job storage
	close     func() error
}

// openLocalStore opens the store that --store names, or makes a temporary one. functions is the URL
// that effects are pushed to.
func openLocalStore(ctx context.Context, outside terminal.Environment, functions string) (localStore, error) {
	switch outside.Store {
	case "":
		return openTemporaryStore(ctx)
	case "firestore":
		e, err := startEmulators(ctx, functions+"/effects")
		if err != nil {
			return localStore{}, err
		}
		jobs, err := os.MkdirTemp("", "opledger-jobs-")
		if err != nil {
			return localStore{}, errors.Join(fmt.Errorf("making a folder for jobs: %w", err), e.close())
		}
		return localStore{
			access: "the ledger in the Firestore emulator", store: e.store, publisher: e.topic, jobs: jobs,
			close: func() error { return errors.Join(e.close(), os.RemoveAll(jobs)) },
		}, nil
	default:
		return openNamedStore(ctx, outside)
	}
}

// openTemporaryStore makes a file in a new folder, which is removed with it.
func openTemporaryStore(ctx context.Context) (localStore, error) {
	dir, err := os.MkdirTemp("", "opledger-local-")
	if err != nil {
		return localStore{}, fmt.Errorf("making a folder for the ledger: %w", err)
	}
	where := config.Store{SQLite: filepath.Join(dir, "ledger.db")}
	store, err := sqlite.Open(ctx, where.SQLite, time.Now)
	if err != nil {
		return localStore{}, errors.Join(err, os.RemoveAll(dir))
	}
	return localStore{
		access: listCommand(where), where: where, flag: where.Absolute().String(), store: store, jobs: beside(where),
		close: func() error { return errors.Join(store.Close(), os.RemoveAll(dir)) },
	}, nil
}

// openNamedStore opens a file that is kept. It may hold earlier runs, which the audit ignores.
func openNamedStore(ctx context.Context, outside terminal.Environment) (localStore, error) {
	where, err := open.Find(outside)
	if err != nil {
		return localStore{}, terminal.Usage(err)
	}
	store, err := open.Store(ctx, outside, where, false)
	if err != nil {
		return localStore{}, err
	}
	return localStore{access: listCommand(where.Store), where: where.Store, flag: where.Absolute().String(), store: store,
		jobs: beside(where.Store), close: store.Close}, nil
}

// beside is the job storage that the commands take for a ledger in a file.
func beside(where config.Store) string { return new(config.Jobs).In(where) }

func listCommand(where config.Store) string {
	return "the ledger for opledger list" + phrase.StoreFlag(where.Absolute().String())
}
