package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opledger/opledger/scripts/stage/signals"
)

// watch writes OUT_DIR/metrics/NAME.json for each signal of infra/signals.json, and
// OUT_DIR/policies/NAME.json for each of its alerts and those of infra/platform.json.
func watch(infra, out string, d signals.Deployment) error {
	table, err := signals.Read(infra)
	if err != nil {
		return err
	}
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
