package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// files are contents by path, with slashes.
type files map[string][]byte

// writeFolder makes dir hold exactly these files. It removes what an earlier run left there, and
// refuses a folder that no run made.
func (f files) writeFolder(dir string) error {
	switch there, err := os.ReadFile(filepath.Join(dir, root)); {
	case err == nil && bytes.HasPrefix(there, []byte(generated)):
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing what was staged before: %w", err)
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("looking at what was staged before: %w", err)
	default:
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already and was not staged: choose another OUT_DIR, or remove it", dir)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("staging: %w", err)
		}
		if err := os.WriteFile(file, f[name], 0o644); err != nil {
			return fmt.Errorf("staging: %w", err)
		}
	}
	return nil
}

// epoch is the modification time of every entry: the first that the format can express.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeZip writes the files in order and returns the zip. It does not compress: the output of a
// compressor may change with the version of Go, and Terraform takes a changed zip for a changed
// function.
func (f files) writeZip(path string) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		header := &zip.FileHeader{Name: name, Method: zip.Store, Modified: epoch}
		header.SetMode(0o644)
		file, err := w.CreateHeader(header)
		if err == nil {
			_, err = file.Write(f[name])
		}
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.WriteFile(path, archive.Bytes(), 0o644); err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return archive.Bytes(), nil
}
