// Command release builds everything that a release consists of, from a clean checkout of its tag:
//
//	go run ./scripts/release v0.1.0
//
//	dist/opledger_0.1.0_linux_amd64.tar.gz …       the command for each platform; with what a machine needs, for Linux
//	dist/opledger_server-0.1.0-py3-none-….whl …    the same as a Python distribution: pip puts the command on PATH
//	dist/opledger-0.1.0-py3-none-any.whl           the Python package; its extra "server" requires that distribution
//	dist/opledger-0.1.0.tgz                        the client in TypeScript, for npm
//	dist/opledger_0.1.0_function_webhook.zip …     the source of each function, as scripts/stage makes it
//	dist/opledger_0.1.0_image_linux_amd64.tar …    an image, where buildah is
//	dist/image/linux_amd64/ …                      what an image is built of: docker build dist/image/linux_amd64
//	dist/NOTES.md, dist/SHA256SUMS                 the text of the release, from .github/CHANGELOG.md; checksums
//
// The version is the tag's alone: Go puts it into the command, and release into the packages. With --here it builds
// for this platform alone, which takes a fifth of the time. The same tag makes the same archives and wheels, with the
// same Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
)

func main() {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	out := flags.String("out", "dist", "folder to build in; it must be empty, or not there")
	here := flags.Bool("here", false, "build for this platform alone")
	flags.Usage = func() {
		_, _ = fmt.Fprintln(flags.Output(), "usage: go run ./scripts/release [--here] [--out FOLDER] VERSION")
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:]) // it exits
	if flags.NArg() != 1 {
		flags.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flags.Arg(0), *out, *here, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run builds a release, and says what it built.
func run(ctx context.Context, tag, out string, here bool, say io.Writer) (err error) {
	temporary, err := os.MkdirTemp("", "opledger-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	source, err := checkOut(ctx, tag, temporary)
	if err != nil {
		return err
	}
	d, err := newDist(out)
	if err != nil {
		return err
	}
	targets := platforms
	if here {
		targets = slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool {
			return p.os != runtime.GOOS || p.arch != runtime.GOARCH
		})
		if len(targets) == 0 {
			return fmt.Errorf("--here: no release is built for %s/%s", runtime.GOOS, runtime.GOARCH)
		}
	}
	if err := d.write("NOTES.md", []byte(source.notes)); err != nil {
		return err
	}
	if err := source.functions(ctx, d, temporary); err != nil {
		return err
	}
	if err := source.pythonPackage(ctx, d); err != nil {
		return err
	}
	if err := source.npmPackage(ctx, d); err != nil {
		return err
	}
	for _, p := range targets {
		if err := source.command(ctx, d, p, temporary, say); err != nil {
			return err
		}
	}
	return d.sums(say)
}
