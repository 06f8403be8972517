// Command watch writes the monitoring of a deployment for scripts/deploy: log-based metrics and alert
// policies, in the form of Google's APIs.
//
//	go run ./scripts/stage/watch OUT_DIR PREFIX REGION INTERVAL CHANNELS
//
// CHANNELS are the full names of the notification channels that policies notify, separated by white
// space; there may be none.
//
//	OUT_DIR/metrics/NAME.json     for each signal of infra/signals.json
//	OUT_DIR/policies/NAME.json    for each of its alerts, and those of infra/platform.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/stage/signals"
)

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/stage/watch OUT_DIR PREFIX REGION INTERVAL CHANNELS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

func run(out, prefix, region, interval, channels string) error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("finding the source tree: %w", err)
	}
	every, err := time.ParseDuration(interval)
	if err != nil {
		return fmt.Errorf("the interval of the schedule: %w", err)
	}
	infra := filepath.Join(strings.TrimSpace(string(module)), "infra")
	table, err := signals.Read(infra)
	if err != nil {
		return err
	}
	d := signals.Deployment{Prefix: prefix, Region: region, Interval: every, Channels: strings.Fields(channels)}
	platform, err := signals.ReadPlatform(infra)
	if err != nil {
		return err
	}
	policies, err := signals.Policies(infra, table, platform, d)
	if err != nil {
		return err
	}
	for _, s := range table {
		err = errors.Join(err, write(filepath.Join(out, "metrics", s.Name+".json"), s.Metric(d)))
	}
	for name, policy := range policies {
		err = errors.Join(err, write(filepath.Join(out, "policies", name+".json"), policy))
	}
	return err
}

func write(file string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", file, err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing what watches: %w", err)
	}
	return nil
}
