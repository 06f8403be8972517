package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
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
	Tool struct {
		Setuptools struct {
			Packages []string `json:"packages"`
		} `json:"setuptools"`
	} `json:"tool"`
}

// pythonPackage makes the wheel of the Python package, with the tag's version. setuptools would make the same of it,
// but may be absent, and cannot be fetched everywhere.
func (s source) pythonPackage(ctx context.Context, d dist) error {
	if err := s.rewrite(python+"/opledger/_version.py", `"0.0.0"`, `"`+s.version+`"`); err != nil {
		return err
	}
	said, err := output(ctx, filepath.Join(s.tree, python), "python3", "-c",
		"import json, tomllib; print(json.dumps(tomllib.load(open('pyproject.toml', 'rb'))))") // of Python 3.11
	if err != nil {
		return err
	}
	var p pyproject
	if err := json.Unmarshal([]byte(said), &p); err != nil {
		return fmt.Errorf("reading pyproject.toml: %w", err)
	}
	// What is not read here would be missing in the wheel.
	var all struct{ Project map[string]any }
	if err := json.Unmarshal([]byte(said), &all); err != nil {
		return fmt.Errorf("reading pyproject.toml: %w", err)
	}
	known := []string{"name", "description", "readme", "license", "requires-python", "dependencies", "dynamic",
		"classifiers", "keywords", "optional-dependencies", "urls"}
	for field := range all.Project {
		if !slices.Contains(known, field) {
			return fmt.Errorf("pyproject.toml has %s, which scripts/release/python.go does not know", field)
		}
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
	for _, name := range p.Tool.Setuptools.Packages {
		files, err := s.module(path.Join(python, name), name)
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

// module returns the files of a Python module, in a folder of that name.
func (s source) module(from, name string) (files []file, err error) {
	entries, err := os.ReadDir(filepath.Join(s.tree, filepath.FromSlash(from)))
	if err != nil {
		return nil, fmt.Errorf("reading the package: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue // a package in it has a name of its own
		}
		content, err := s.file(path.Join(from, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: path.Join(name, entry.Name()), content: content})
	}
	return files, nil
}
