// Command tables prints, for shell scripts, the two tables that Terraform reads as they are: which settings there are and
// which functions read them (infra/settings.json), and what the ledger needs of Firestore (infra/firestore.json).
//
//	go run ./scripts/stage/tables
//
// One line for each entry, of fields that white space separates:
//
//	setting NAME deployment|operator|never FUNCTION,…
//	index COLLECTION FIELD:ascending|descending,…
//	unindexed COLLECTION FIELD
//	expiry COLLECTION FIELD
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("finding the source tree: %w", err)
	}
	infra := filepath.Join(strings.TrimSpace(string(module)), "infra")
	var settings []setting
	var firestore firestore
	if err := errors.Join(
		read(filepath.Join(infra, "settings.json"), &settings), read(filepath.Join(infra, "firestore.json"), &firestore),
	); err != nil {
		return err
	}
	return print(w, settings, firestore)
}

// A setting is a variable of the functions' environment.
type setting struct {
	Name      string
	Set       string // by whom: deployment, operator or never
	Functions []string
}

type firestore struct {
	Indexes []struct {
		Collection string
		Fields     []struct {
			Name       string
			Descending bool
		}
	}
	Unindexed, Expiry []struct{ Collection, Name string }
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

func print(w io.Writer, settings []setting, firestore firestore) error {
	var lines strings.Builder
	for _, s := range settings {
		if s.Name == "" || len(s.Functions) == 0 || s.Set != "deployment" && s.Set != "operator" && s.Set != "never" {
			return fmt.Errorf("settings.json: %+v: a setting has a name, functions, and is set by the deployment, the operator, or never", s)
		}
		fmt.Fprintln(&lines, "setting", s.Name, s.Set, strings.Join(s.Functions, ","))
	}
	for _, index := range firestore.Indexes {
		var fields []string
		for _, f := range index.Fields {
			order := "ascending"
			if f.Descending {
				order = "descending"
			}
			fields = append(fields, f.Name+":"+order)
		}
		fmt.Fprintln(&lines, "index", index.Collection, strings.Join(fields, ","))
	}
	for _, f := range firestore.Unindexed {
		fmt.Fprintln(&lines, "unindexed", f.Collection, f.Name)
	}
	for _, f := range firestore.Expiry {
		fmt.Fprintln(&lines, "expiry", f.Collection, f.Name)
	}
	_, err := io.WriteString(w, lines.String())
	return err
}
