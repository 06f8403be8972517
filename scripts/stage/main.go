// Command stage makes of each function what is uploaded to Google Cloud: a folder, and the same as a zip.
//
//	go run ./scripts/stage OUT_DIR
//
// The Go buildpack needs a package at the root of its input, and this module has none. So each function
// gets a root of its own, which imports the function and nothing else:
//
//	OUT_DIR/webhook/app.go      generated: imports the functions framework, and functions/webhook
//	OUT_DIR/webhook/go.mod …    as here
//	OUT_DIR/webhook/…           the packages of this module that the function links, by `go list -deps`; no tests
//	OUT_DIR/webhook.zip         the same
//
// gcloud uploads the folder, Terraform the zip. The same sources make the same bytes, at any time and on
// any machine. A change of the source changes only the zips of the functions that link it; the others
// need no deployment. A line for each zip has its path, its size, and its SHA-256, which is part of the
// name that Terraform uploads it under.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] == "" || os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/stage OUT_DIR")
		os.Exit(2)
	}
	if err := stage(context.Background(), os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		os.Exit(1)
	}
}

// stage writes every function's folder and zip to out, and a line for each zip to w.
func stage(ctx context.Context, out string, w io.Writer) error {
	functions, err := find(ctx)
	if err != nil {
		return err
	}
	packages, err := link(ctx, functions)
	if err != nil {
		return err
	}
	for _, f := range functions {
		files, err := f.files(packages)
		if err != nil {
			return err
		}
		if err := files.writeFolder(filepath.Join(out, f.name)); err != nil {
			return err
		}
		archive := filepath.Join(out, f.name+".zip")
		content, err := files.writeZip(archive)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s  %d bytes  sha256:%x\n", archive, len(content), sha256.Sum256(content)); err != nil {
			return fmt.Errorf("saying what was staged: %w", err)
		}
	}
	return nil
}
