package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/opledger/opledger/test/mutation/switchboard"
)

// A unit is what one process runs: a test, or a part of one that takes long.
type unit struct {
	binary  *binary
	name    string // "TestConformance/Ledger/EffectClaim/first"
	took    time.Duration
	used    time.Duration // of processors
	reaches []int         // the mutants
}

func (u unit) String() string { return u.binary.pkg + " " + u.name }

// pattern is the argument of -test.run for the parts of a test's name.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// An outcome is how one process ended.
type outcome struct {
	failed bool
	output string
	took   time.Duration
	used   time.Duration // of processors
}

// limits bound a process: the time that passes, and the time of processors that it may use.
type limits struct{ wall, processor time.Duration }

// run runs the tests of a binary that match, with the given variables set. A process that reaches a
// limit is killed with all that it started, and has failed.
func (b *binary) run(ctx context.Context, tests string, most limits, env ...string) (outcome, error) {
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(scratch)                      // what a killed test leaves behind
	if err := os.Chmod(scratch, 0o755); err != nil { // some tests are another user
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, most.wall)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$1"; shift; exec "$@"`, "sh",
		strconv.Itoa(int(most.processor.Seconds())), b.path, "-test.run", tests, "-test.skip", b.skip,
		"-test.timeout", most.wall.String(), "-test.v")
	command.Dir = b.dir
	command.Env = append(append(os.Environ(), "TMPDIR="+scratch), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	start := time.Now()
	err = command.Run()
	ended := outcome{failed: err != nil, output: output.String(), took: time.Since(start)}
	if err != nil && command.ProcessState == nil {
		return ended, fmt.Errorf("starting the tests of %s: %w", b.pkg, err)
	}
	ended.used = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return ended, nil
}

var result = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+) \((\d+\.\d+)s\)`)

// failing is the name of the test that failed: the innermost of the first. It is empty where the
// process ended before it could say so.
func failing(output string) (name string) {
	for _, found := range result.FindAllStringSubmatch(output, -1) {
		if found[1] == "FAIL" && (name == "" || strings.HasPrefix(found[2], name+"/")) {
			name = found[2]
		}
	}
	return name
}

// units are the tests of a binary that pass, each with the mutants that it reaches. A test that
// takes long is taken apart, so that few processes take long.
func (b *binary) units(ctx context.Context, mutants int, turn chan struct{}) ([]*unit, error) {
	turn <- struct{}{}
	whole, err := b.run(ctx, ".", limits{wall: 10 * time.Minute, processor: 10 * time.Minute})
	<-turn
	if err != nil {
		return nil, err
	}
	var names []string
	total := map[string]time.Duration{} // of a test with its parts
	for _, found := range result.FindAllStringSubmatch(whole.output, -1) {
		name := found[2]
		switch found[1] {
		case "FAIL":
			fmt.Fprintf(os.Stderr, "%s %s fails without a mutant, and is left out\n", b.pkg, name)
		case "PASS":
			names = append(names, name)
			took, err := time.ParseDuration(found[3] + "s")
			if err != nil {
				return nil, err
			}
			for ; name != "."; name = path.Dir(name) {
				total[name] += took
			}
		}
	}
	var units []*unit
	for _, name := range apart(names, total) {
		units = append(units, &unit{binary: b, name: name})
	}
	return b.record(ctx, units, mutants, turn)
}

// apart replaces each test that takes long by its parts.
func apart(names []string, total map[string]time.Duration) (units []string) {
	parts := map[string]bool{} // what has parts
	for _, name := range names {
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			parts[parent] = true
		}
	}
	long := func(name string) bool { return parts[name] && total[name] > 200*time.Millisecond }
	for _, name := range names {
		whole := !long(name)
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			whole = whole && long(parent)
		}
		if whole {
			units = append(units, name)
		}
	}
	return units
}

// record runs each unit by itself, and keeps which mutants it reaches.
func (b *binary) record(ctx context.Context, units []*unit, mutants int, turn chan struct{}) ([]*unit, error) {
	errs := make(chan error, len(units))
	for _, u := range units {
		turn <- struct{}{}
		go func() {
			defer func() { <-turn }()
			errs <- u.record(ctx, mutants)
		}()
	}
	var passing []*unit
	for range units {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	for _, u := range units {
		if u.reaches != nil {
			passing = append(passing, u)
		}
	}
	return passing, nil
}

func (u *unit) record(ctx context.Context, mutants int) error {
	file, err := os.CreateTemp("", "reached")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := file.Truncate(int64(mutants)); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	most := limits{wall: 5 * time.Minute, processor: 5 * time.Minute}
	ended, err := u.binary.run(ctx, pattern(u.name), most, switchboard.Reached+"="+file.Name())
	if err != nil {
		return err
	}
	if ended.failed {
		fmt.Fprintf(os.Stderr, "%s fails by itself, and is left out\n", u)
		return nil
	}
	reached, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	u.took, u.used, u.reaches = ended.took, ended.used, []int{}
	for id, yes := range reached {
		if yes == 1 {
			u.reaches = append(u.reaches, id)
		}
	}
	return nil
}
