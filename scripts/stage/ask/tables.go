package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/opledger/opledger/scripts/stage/signals"
)

// tables prints the tables in the folder infra, one line for each entry, of fields that white space separates:
//
//	setting NAME deployment|operator|never FUNCTION,…
//	command NAME                                        a setting that opledger's commands read, too
//	index COLLECTION FIELD:ascending|descending,…       of several fields, of a collection group
//	field COLLECTION FIELD SCOPE:ORDER,…                all indexes of one field, such as COLLECTION_GROUP:ASCENDING
//	unindexed COLLECTION FIELD
//	expiry COLLECTION FIELD
//	role WHO ROLE KIND NAME ONLY WHY…                   on a resource of that kind; NAME has no prefix; - is none
//	source BUCKET                                       prefix of a bucket with uploaded source; see roles.json
//	metric NAME                                         a log-based metric, without the prefix
//	policy NAME TITLE…                                  an alert policy; its title has no prefix
func tables(infra string, w io.Writer) error {
	var settings []setting
	var firestore firestore
	var roles []role
	if err := errors.Join(
		signals.ReadTable(filepath.Join(infra, "settings.json"), &settings),
		signals.ReadTable(filepath.Join(infra, "firestore.json"), &firestore),
		signals.ReadTable(filepath.Join(infra, "roles.json"), &roles),
	); err != nil {
		return err
	}
	watched, err := signals.Read(infra)
	if err != nil {
		return err
	}
	platform, err := signals.ReadPlatform(infra)
	if err != nil {
		return err
	}
	var lines strings.Builder
	err = errors.Join(printSettings(&lines, settings), printRoles(&lines, roles))
	printFirestore(&lines, firestore)
	printSignals(&lines, watched, platform)
	if err == nil {
		_, err = io.WriteString(w, lines.String())
	}
	return err
}

// A setting is a variable of the functions' environment.
type setting struct {
	Name      string
	Set       string // by whom: deployment, operator or never
	Functions []string
	Commands  bool
}

type firestore struct {
	Indexes []struct {
		Collection string
		Scope      string // COLLECTION, or empty for the collection group
		Fields     []struct {
			Name       string
			Descending bool
		}
	}
	Unindexed, Expiry []struct{ Collection, Name string }
}

// A role is one that an account has on one resource.
type role struct {
	Who, Role, On, Name, Only, Why string
	Buckets                        []string // of a role on source, with NUMBER, PROJECT and REGION in their names
}

func printSettings(w io.Writer, settings []setting) error {
	for _, s := range settings {
		if s.Name == "" || len(s.Functions) == 0 || s.Set != "deployment" && s.Set != "operator" && s.Set != "never" {
			return fmt.Errorf("settings.json: %+v: a setting has a name, functions, and is set by the deployment, the "+
				"operator, or never", s)
		}
		fmt.Fprintln(w, "setting", s.Name, s.Set, strings.Join(s.Functions, ","))
		if s.Commands {
			fmt.Fprintln(w, "command", s.Name)
		}
	}
	return nil
}

func printFirestore(w io.Writer, firestore firestore) {
	single := map[string][]string{} // the indexes of a field, which are configured together
	var fields []string
	for _, index := range firestore.Indexes {
		var columns []string
		for _, f := range index.Fields {
			order := "ascending"
			if f.Descending {
				order = "descending"
			}
			columns = append(columns, f.Name+":"+order)
		}
		if len(columns) > 1 {
			fmt.Fprintln(w, "index", index.Collection, strings.Join(columns, ","))
			continue
		}
		name, order, _ := strings.Cut(columns[0], ":")
		name = index.Collection + " " + name
		if single[name] == nil {
			fields = append(fields, name)
		}
		single[name] = append(single[name], cmp.Or(index.Scope, "COLLECTION_GROUP")+":"+strings.ToUpper(order))
	}
	for _, name := range fields {
		fmt.Fprintln(w, "field", name, strings.Join(single[name], ","))
	}
	for _, f := range firestore.Unindexed {
		fmt.Fprintln(w, "unindexed", f.Collection, f.Name)
	}
	for _, f := range firestore.Expiry {
		fmt.Fprintln(w, "expiry", f.Collection, f.Name)
	}
}

func printRoles(w io.Writer, roles []role) error {
	for _, r := range roles {
		if r.Who == "" || r.Role == "" || r.On == "" || r.Why == "" {
			return fmt.Errorf("roles.json: %+v: a role needs who, role, on and why", r)
		}
		if (r.On == "source") != (len(r.Buckets) > 0) {
			return fmt.Errorf("roles.json: %+v: a role on source, and no other, lists buckets", r)
		}
		fmt.Fprintln(w, "role", r.Who, r.Role, r.On, cmp.Or(r.Name, "-"), cmp.Or(r.Only, "-"), r.Why)
		for _, bucket := range r.Buckets {
			fmt.Fprintln(w, "source", bucket)
		}
	}
	return nil
}

func printSignals(w io.Writer, watched []signals.Signal, platform []signals.Measure) {
	for _, s := range watched {
		fmt.Fprintln(w, "metric", s.Name)
		if s.Alert != nil {
			fmt.Fprintln(w, "policy", s.Name, s.Alert.Title)
		}
	}
	for _, m := range platform {
		if m.Alert != nil {
			fmt.Fprintln(w, "policy", m.Name, m.Alert.Title)
		}
	}
}
