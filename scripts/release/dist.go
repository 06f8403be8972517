package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A dist is the folder that a release is built in.
type dist struct{ folder string }

// newDist makes the folder. What an earlier release left there would be in the checksums of this one.
func newDist(folder string) (dist, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return dist{}, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dist{}, fmt.Errorf("looking into the folder: %w", err)
	}
	if len(entries) > 0 {
		return dist{}, fmt.Errorf("%s is not empty: remove it, or choose another with --out", folder)
	}
	return dist{folder}, os.MkdirAll(folder, 0o755)
}

func (d dist) write(name string, content []byte) error {
	path := filepath.Join(d.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// sums writes the checksum of every file at the top of the folder, and prints them.
func (d dist) sums(say io.Writer) error {
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(d.folder, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	if err := d.write("SHA256SUMS", []byte(sums.String())); err != nil {
		return err
	}
	_, err = io.WriteString(say, sums.String())
	return err
}

// A file of an archive.
type file struct {
	name       string // with slashes
	content    []byte
	executable bool
}

func (f file) mode() fs.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// tarball returns a .tar.gz of files, all of one time.
func tarball(files []file, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	compress, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compress)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{
			Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX,
		})
		if err == nil {
			_, err = archive.Write(f.content)
		}
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	err = errors.Join(archive.Close(), compress.Close()) // they write, too
	return packed.Bytes(), err
}

// zipped returns a .zip of files, all of one time.
func zipped(files []file, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode())
		w, err := archive.CreateHeader(header)
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	err := archive.Close() // it writes, too
	return packed.Bytes(), err
}
