package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// python is the folder of the Python package.
const python = "scripts/python"

// A pyproject is what pyproject.toml says, as far as a wheel has it.
type pyproject struct {
	Project struct {
		Name        string                `json:"name"`
		Description string                `json:"description"`
		Readme      string                `json:"readme"`
		License     struct{ Text string } `json:"license"`
		Requires    string                `json:"requires-python"`
		Depends     []string              `json:"dependencies"`
		Dynamic     []string              `json:"dynamic"`
		Classifiers []string              `json:"classifiers"`
		Keywords    []string              `json:"keywords"`
		Optional    map[string][]string   `json:"optional-dependencies"`
		URLs        map[string]string     `json:"urls"`
	} `json:"project"`
	Packages []string `json:"packages"` // tool.setuptools.packages
}

// pythonPackage makes the wheel of the Python package, with the tag's version. setuptools would make the same of it,
// but may be absent, and cannot be fetched everywhere.
func (s source) pythonPackage(ctx context.Context, d dist) error {
	if err := s.rewrite(python+"/opledger/_version.py", `"0.0.0"`, `"`+s.version+`"`); err != nil {
		return err
	}
	said, err := output(ctx, filepath.Join(s.tree, python), "python3", "-c", // tomllib is of Python 3.11
		"import json, tomllib; all = tomllib.load(open('pyproject.toml', 'rb')); "+
			"print(json.dumps({'project': all['project'], 'packages': all['tool']['setuptools']['packages']}))")
	if err != nil {
		return err
	}
	var p pyproject
	decoder := json.NewDecoder(strings.NewReader(said))
	decoder.DisallowUnknownFields() // what is not read here would be missing in the wheel
	if err := decoder.Decode(&p); err != nil {
		return fmt.Errorf("reading pyproject.toml by what scripts/release/python.go knows of it: %w", err)
	}
	readme, err := s.file(path.Join(python, p.Project.Readme))
	if err != nil {
		return err
	}
	own, err := s.file("LICENSE")
	if err != nil {
		return err
	}
	w := wheel{
		distribution: p.Project.Name, version: s.version, platforms: []string{"any"}, pure: true,
		metadata: p.metadata(s.version, string(readme)), licences: []file{{name: "LICENSE", content: own}},
	}
	for _, name := range p.Packages {
		files, err := s.files(path.Join(python, name), name) // a package in it has a name of its own
		if err != nil {
			return err
		}
		w.files = append(w.files, files...)
	}
	packed, err := w.pack(s.at)
	if err != nil {
		return err
	}
	return d.write(w.name(), packed)
}

// metadata is what pip reads. The extra server requires the command of this version.
func (p pyproject) metadata(version, readme string) string {
	var m bytes.Buffer
	field := func(name, value string) { fmt.Fprintf(&m, "%s: %s\n", name, value) }
	field("Metadata-Version", "2.1")
	field("Name", p.Project.Name)
	field("Version", version)
	field("Summary", p.Project.Description)
	field("License", p.Project.License.Text)
	field("Requires-Python", p.Project.Requires)
	if len(p.Project.Keywords) > 0 {
		field("Keywords", strings.Join(p.Project.Keywords, ","))
	}
	for _, classifier := range p.Project.Classifiers {
		field("Classifier", classifier)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Project.URLs)) {
		field("Project-URL", name+", "+p.Project.URLs[name])
	}
	for _, dependency := range p.Project.Depends {
		field("Requires-Dist", dependency)
	}
	for _, extra := range slices.Sorted(maps.Keys(p.Project.Optional)) {
		field("Provides-Extra", extra)
		for _, dependency := range p.Project.Optional[extra] {
			if dependency == "opledger-server" {
				dependency += "==" + version
			}
			field("Requires-Dist", fmt.Sprintf("%s; extra == '%s'", dependency, extra))
		}
	}
	field("Description-Content-Type", "text/markdown")
	return m.String() + "\n" + readme
}
