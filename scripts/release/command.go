package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// A platform is one that the command is built for.
type platform struct {
	os, arch string
	// wheels are the tags by which pip finds the wheel for it. The command links no C library, so it runs beside any.
	wheels []string
}

var platforms = []platform{
	{"linux", "amd64", []string{"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"}},
	{"linux", "arm64", []string{"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"}},
	{"darwin", "amd64", []string{"macosx_12_0_x86_64"}},
	{"darwin", "arm64", []string{"macosx_12_0_arm64"}},
	{"windows", "amd64", []string{"win_amd64"}},
}

// machine is the folder with what a machine on which serve runs for years needs.
const machine = "infra/machine"

// command builds opledger for a platform, and everything that has it in it.
func (s source) command(ctx context.Context, d dist, p platform, temporary string, say io.Writer) error {
	binary, deps, err := s.build(ctx, p, temporary)
	if err != nil {
		return err
	}
	name := "opledger"
	if p.os == "windows" {
		name += ".exe"
	}
	program := file{name: name, content: binary, executable: true}
	legal, err := s.legal(ctx, deps)
	if err != nil {
		return err
	}
	if err := s.serverWheel(d, p, program, legal); err != nil {
		return err
	}
	whole := append([]file{program}, legal...)
	if p.os == "linux" {
		units, err := s.files(machine, "machine", "Dockerfile") // whose context an archive is not
		if err != nil {
			return err
		}
		whole = append(whole, units...)
	}
	stem := fmt.Sprintf("opledger_%s_%s_%s", s.version, p.os, p.arch)
	for i := range whole {
		whole[i].name = path.Join(stem, whole[i].name)
	}
	pack, suffix := tarball, ".tar.gz"
	if p.os == "windows" {
		pack, suffix = zipped, ".zip"
	}
	packed, err := pack(whole, s.at)
	if err == nil {
		err = d.write(stem+suffix, packed)
	}
	if err == nil && p.os == "linux" {
		err = s.image(ctx, d, p, binary, say)
	}
	return err
}

// build returns the command, and the modules that it links. Go stamps the version of the tag into it.
func (s source) build(ctx context.Context, p platform, temporary string) ([]byte, *buildinfo.BuildInfo, error) {
	built := filepath.Join(temporary, "opledger_"+p.os+"_"+p.arch)
	_, err := outputWith(ctx, []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOFLAGS=", "GOWORK=off"},
		s.root, "go", "build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w", "-o", built, "./scripts/opledger")
	if err != nil {
		return nil, nil, err
	}
	info, err := buildinfo.ReadFile(built)
	if err != nil {
		return nil, nil, fmt.Errorf("reading what was built: %w", err)
	}
	if info.Main.Version != "v"+s.version {
		return nil, nil, fmt.Errorf("the command for %s/%s has the version %s: build in a clone of its own, and not in a "+
			"work tree of another, where Go finds no tag", p.os, p.arch, info.Main.Version)
	}
	binary, err := os.ReadFile(built)
	return binary, info, err
}
