package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// TestStore is the table of what OPLEDGER_STORE may be, with and without a project.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, project          string
		want, sqlite, database string
		problem                string
	}{
		{"", "", "sqlite:opledger.db", "opledger.db", "", ""},
		{"", "p", "firestore", "", "", ""},
		{"firestore", "p", "firestore", "", "", ""},
		{"firestore:", "p", "firestore", "", "", ""},
		{"firestore:other", "p", "firestore:other", "", "other", ""},
		{"firestore", "", "", "", "", "GOOGLE_CLOUD_PROJECT"},
		{"firestore:other", "", "", "", "", "GOOGLE_CLOUD_PROJECT"},
		{"sqlite:a.db", "", "sqlite:a.db", "a.db", "", ""},
		{"sqlite:/var/lib/a b:c.db", "p", "sqlite:/var/lib/a b:c.db", "/var/lib/a b:c.db", "", ""},
		{"sqlite:", "", "", "", "", "sqlite:PATH"},
		{"sqlite", "p", "", "", "", "sqlite:PATH"},
		{"a.db", "", "", "", "", "sqlite:PATH"},
		{"postgres://x", "p", "", "", "", "firestore:DATABASE"},
	} {
		var store config.Store
		var err error
		if c.text != "" {
			err = store.UnmarshalText([]byte(c.text))
		}
		if err == nil {
			store, err = store.In(config.Project{ID: c.project})
		}
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%q with project %q: %v, want it to say %s", c.text, c.project, err, c.problem)
			}
			continue
		}
		if err != nil || store.String() != c.want || store.SQLite != c.sqlite || store.Database != c.database {
			t.Errorf("%q with project %q: %+v %v, want %s", c.text, c.project, store, err, c.want)
		}
		if file := c.sqlite != ""; store.IsFile() != file || config.NamesFile(c.text) != (file && c.text != "") {
			t.Errorf("%q with project %q is a file: %v, and names one: %v", c.text, c.project, store.IsFile(),
				config.NamesFile(c.text))
		}
	}
}

// TestStoreInIsKept: a store that code made, and not a text, is no zero Store: its file is kept.
func TestStoreInIsKept(t *testing.T) {
	t.Parallel()
	made := config.Store{SQLite: "made.db"}
	if got, err := made.In(config.Project{}); err != nil || got.SQLite != "made.db" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestDeployed: a deployed function needs a project, a topic and Firestore. Everything that is
// missing is reported.
func TestDeployed(t *testing.T) {
	t.Parallel()
	type settings struct {
		Firestore config.Firestore
		Topic     config.Topic
	}
	for _, c := range []struct{ set, want []string }{
		{[]string{"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_TOPIC=t"}, nil},
		{nil, []string{"GOOGLE_CLOUD_PROJECT", "OPLEDGER_TOPIC"}},
		{[]string{"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_STORE=sqlite:x.db"}, []string{"OPLEDGER_STORE", "OPLEDGER_TOPIC"}},
		{[]string{"OPLEDGER_STORE=mysql"}, []string{"OPLEDGER_STORE", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_TOPIC"}},
	} {
		_, err := config.Parse[settings](c.set)
		var got []string
		for _, problem := range diag.Split(err) {
			variable, _, _ := strings.Cut(problem.Error(), ":")
			got = append(got, variable)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want problems of %v", c.set, err, c.want)
		}
	}
	got, err := config.Parse[settings]([]string{"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_TOPIC=t",
		"OPLEDGER_STORE=firestore:d"})
	if err != nil || got.Firestore.Store.Database != "d" {
		t.Errorf("%+v %v", got, err)
	}
}
