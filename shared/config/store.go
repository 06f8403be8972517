package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// Project is the Google Cloud project.
type Project struct {
	// ID is the Google Cloud project. Deployed functions need it.
	ID string `env:"GOOGLE_CLOUD_PROJECT" secret:"no"`
}

// A Store says where the ledger is: in a Firestore database or an SQLite file. The zero Store says
// neither, see In.
type Store struct {
	// SQLite is the path of the file; empty for Firestore.
	SQLite string
	// Database is the Firestore database; empty for the default one.
	Database string

	set bool
}

// DefaultSQLite is the file of the embedded store, relative to the working directory, where neither
// a store nor a project is set.
const DefaultSQLite = "opledger.db"

// IsFile reports whether the ledger is an SQLite file. Else it is in Firestore.
func (s Store) IsFile() bool { return s.SQLite != "" }

// NamesFile reports whether a text that UnmarshalText reads names an SQLite file.
func NamesFile(text string) bool {
	var s Store
	return s.UnmarshalText([]byte(text)) == nil && s.IsFile()
}

// UnmarshalText reads "firestore", "firestore:DATABASE" or "sqlite:PATH".
func (s *Store) UnmarshalText(text []byte) error {
	kind, rest, _ := strings.Cut(string(text), ":")
	switch {
	case kind == "sqlite" && rest != "":
		*s = Store{SQLite: rest, set: true}
	case kind == "firestore":
		*s = Store{Database: rest, set: true}
	default:
		return fmt.Errorf("it must be firestore, firestore:DATABASE or sqlite:PATH, not %q", text)
	}
	return nil
}

// String returns the store in the form that UnmarshalText reads.
func (s Store) String() string {
	switch {
	case s.IsFile():
		return "sqlite:" + s.SQLite
	case s.Database != "":
		return "firestore:" + s.Database
	default:
		return "firestore"
	}
}

// Absolute is the store with the whole path of its file, by which another process finds it from any folder.
func (s Store) Absolute() Store {
	if s.IsFile() {
		if path, err := filepath.Abs(s.SQLite); err == nil { // else the working directory is gone
			s.SQLite = path
		}
	}
	return s
}

// In returns the store for a project. The zero Store becomes Firestore where there is a project,
// and DefaultSQLite where there is none. Firestore without a project is an error.
func (s Store) In(project Project) (Store, error) {
	switch {
	case s == Store{} && project.ID == "":
		return Store{SQLite: DefaultSQLite, set: true}, nil
	case !s.IsFile() && project.ID == "":
		return Store{}, errors.New("firestore needs GOOGLE_CLOUD_PROJECT to be set")
	default:
		s.set = true
		return s, nil
	}
}

// Place is where a command finds the ledger.
type Place struct {
	// Store is where the ledger is: firestore[:DATABASE] or sqlite:PATH. Not set: firestore where a project
	// is set, else sqlite:opledger.db. Deployed functions take only Firestore.
	Store Store `env:"OPLEDGER_STORE" secret:"no"`
}

// Firestore is where a deployed function finds the ledger: in Firestore, and nowhere else.
type Firestore struct {
	ProjectID string `env:"GOOGLE_CLOUD_PROJECT" secret:"no"`
	Store     Store  `env:"OPLEDGER_STORE" envDefault:"firestore" secret:"no"`
}

func (f *Firestore) validate(p *diag.Problems) {
	p.When(f.ProjectID == "", "GOOGLE_CLOUD_PROJECT: it is not set; the ledger is in that project's Firestore")
	p.When(f.Store.IsFile(), "OPLEDGER_STORE: a deployed function keeps its ledger in Firestore: "+
		"it must be firestore or firestore:DATABASE")
}

// Topic is the Pub/Sub topic that a deployed function publishes effects to.
type Topic struct {
	// Name is the Pub/Sub topic for effects. Deployed functions need it. Where a command has none, effects
	// run in its own process.
	Name string `env:"OPLEDGER_TOPIC" secret:"no"`
}

func (t *Topic) validate(p *diag.Problems) {
	p.When(t.Name == "", "OPLEDGER_TOPIC: it is not set; planned effects are published to that Pub/Sub topic")
}

// OptionalTopic is the topic of a command. Where it is not set, effects are enqueued inside the
// process.
type OptionalTopic struct {
	Name string `env:"OPLEDGER_TOPIC" secret:"no"`
}
