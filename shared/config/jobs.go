package config

import (
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/storage"
)

// Jobs is where jobs keep what they read and write.
type Jobs struct {
	// Storage is where jobs keep their objects: gs://BUCKET/PREFIX or a folder, the same for all. Not set: a
	// folder beside the SQLite file, named after it; with Firestore, no jobs.
	Storage string `env:"OPLEDGER_JOB_STORAGE" secret:"no"`
}

func (j *Jobs) validate(p *diag.Problems) {
	if j.Storage != "" {
		_, err := storage.Open(j.Storage, "")
		p.Of("OPLEDGER_JOB_STORAGE", err)
	}
}

// besideStore is what the folder of jobs is called behind the name of the SQLite file.
const besideStore = ".jobs"

// In returns the location of job storage for a ledger in store; empty where there is none.
func (j *Jobs) In(store Store) string {
	if j.Storage == "" && store.IsFile() {
		return store.SQLite + besideStore
	}
	return j.Storage
}
