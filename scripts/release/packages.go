package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// typescript is the folder of the client in TypeScript.
const typescript = "scripts/typescript"

// npmPackage makes the tarball of the client in TypeScript, with the tag's version.
func (s source) npmPackage(ctx context.Context, d dist) error {
	if err := s.rewrite(typescript+"/package.json", `"version": "0.0.0"`, `"version": "`+s.version+`"`); err != nil {
		return err
	}
	own, err := s.file("LICENSE")
	if err != nil {
		return err
	}
	folder := filepath.Join(s.tree, typescript)
	if err := os.WriteFile(filepath.Join(folder, "LICENSE"), own, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"ci", "--prefer-offline", "--no-audit", "--no-fund"}, {"run", "build"}, {"pack", "--pack-destination", d.folder},
	} {
		if _, err := output(ctx, folder, "npm", args...); err != nil {
			return err
		}
	}
	return nil
}

// functions makes the source zips of the functions, which gcloud and Terraform deploy.
func (s source) functions(ctx context.Context, d dist, temporary string) error {
	staged := filepath.Join(temporary, "functions")
	if err := os.Mkdir(staged, 0o700); err != nil {
		return err
	}
	if _, err := output(ctx, s.root, "go", "run", "./scripts/stage", staged); err != nil {
		return err
	}
	zips, err := filepath.Glob(filepath.Join(staged, "*.zip"))
	if err != nil {
		return err
	}
	for _, path := range zips {
		content, err := os.ReadFile(path)
		if err == nil {
			err = d.write(fmt.Sprintf("opledger_%s_function_%s", s.version, filepath.Base(path)), content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// certificates are the authorities that this machine trusts, by the places where systems have them.
var certificates = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
}

// image makes what an image is built of, and the image where buildah is. It needs no network, and runs nothing.
func (s source) image(ctx context.Context, d dist, p platform, binary []byte, say io.Writer) error {
	context := filepath.Join(d.folder, "image", p.os+"_"+p.arch)
	if err := os.MkdirAll(filepath.Join(context, "data"), 0o755); err != nil {
		return err
	}
	dockerfile, err := s.file(machine + "/Dockerfile")
	if err != nil {
		return err
	}
	trusted, err := firstOf(certificates)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"Dockerfile": dockerfile, "ca-certificates.crt": trusted, "opledger": binary,
	} {
		if err := os.WriteFile(filepath.Join(context, name), content, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(context, "opledger"), 0o755); err != nil {
		return err
	}
	if _, err := exec.LookPath("buildah"); err != nil {
		_, err := fmt.Fprintf(say, "NOT RUN: the image for %s/%s: there is no buildah\n", p.os, p.arch)
		return err
	}
	storage, err := os.MkdirTemp("", "opledger-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(storage) //nolint:errcheck // it is temporary
	buildah := []string{"--storage-driver", "vfs", "--root", filepath.Join(storage, "root"),
		"--runroot", filepath.Join(storage, "run")}
	name := "opledger:" + s.version
	archive := filepath.Join(d.folder, fmt.Sprintf("opledger_%s_image_%s_%s.tar", s.version, p.os, p.arch))
	for _, args := range [][]string{
		{"build", "--platform", p.os + "/" + p.arch, "--timestamp", fmt.Sprint(s.at.Unix()), "-t", name, context},
		{"push", name, "docker-archive:" + archive + ":" + name},
	} {
		if _, err := output(ctx, "", "buildah", append(buildah, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// firstOf returns the content of the first file that is there.
func firstOf(paths []string) ([]byte, error) {
	for _, path := range paths {
		if content, err := os.ReadFile(path); err == nil {
			return content, nil
		}
	}
	return nil, fmt.Errorf("no file has the certificates that an image needs: %s", strings.Join(paths, ", "))
}
