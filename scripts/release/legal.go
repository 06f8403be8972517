package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// legalFile matches the names of files with a licence, or a notice that goes with one.
var legalFile = regexp.MustCompile(`^(?i)(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// legal returns the licence of opledger, and those of all that the command links or embeds, in one file: each of them
// must go with the program.
func (s source) legal(ctx context.Context, linked *buildinfo.BuildInfo) ([]file, error) {
	own, err := s.file("LICENSE")
	if err != nil {
		return nil, err
	}
	folders, err := s.modules(ctx, linked)
	if err != nil {
		return nil, err
	}
	goroot, err := output(ctx, s.root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders = append(folders, folder{linked.GoVersion, goroot},
		folder{"the console's files", filepath.Join(s.tree, "scripts", "opledger", "console", "static")})
	var all bytes.Buffer
	for _, f := range folders {
		if err := f.licences(&all); err != nil {
			return nil, err
		}
	}
	return []file{{name: "LICENSE", content: own}, {name: "THIRD-PARTY.txt", content: all.Bytes()}}, nil
}

// A folder has the licence of a module.
type folder struct{ what, path string }

// modules returns where the linked modules are.
func (s source) modules(ctx context.Context, linked *buildinfo.BuildInfo) (folders []folder, err error) {
	args := []string{"list", "-m", "-json=Path,Version,Dir"}
	for _, module := range linked.Deps {
		args = append(args, module.Path)
	}
	listed, err := output(ctx, s.root, "go", args...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(listed)); decoder.More(); {
		var module struct{ Path, Version, Dir string }
		if err := decoder.Decode(&module); err != nil {
			return nil, fmt.Errorf("reading the list of modules: %w", err)
		}
		folders = append(folders, folder{module.Path + " " + module.Version, module.Dir})
	}
	return folders, nil
}

// licences writes the licences in a folder.
func (f folder) licences(to *bytes.Buffer) error {
	entries, err := os.ReadDir(f.path)
	found := false
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !legalFile.MatchString(name) && !strings.HasSuffix(name, ".LICENSE") {
			continue
		}
		text, failed := os.ReadFile(filepath.Join(f.path, name))
		err, found = errors.Join(err, failed), true
		fmt.Fprintf(to, "==== %s: %s\n\n%s\n\n", f.what, name, bytes.TrimSpace(text))
	}
	if err == nil && !found {
		err = errors.New("there is no licence")
	}
	if err != nil {
		return fmt.Errorf("the licence of %s in %s: %w", f.what, f.path, err)
	}
	return nil
}
