package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain plays the other processes, as main does: run starts this program for them.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestRun: each kind of delivery is sent and answered as it should be, with one and with two callers.
func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--callers", "1,2", "--duration", "20ms", "--rounds", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"callers: 1", "callers: 2"} {
		_, table, found := strings.Cut(out.String(), want)
		if table, _, _ = strings.Cut(table, "\n\n"); !found || strings.Count(table, "\n") != 5 {
			t.Errorf("no table of five rows for %s in\n%s", want, out.String())
		}
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	args := []string{"--callers", "1,many,0", "--duration", "0s", "--rounds", "0", "fast"}
	err := run(t.Context(), args, &bytes.Buffer{})
	for _, want := range []string{`"many"`, `"0"`, "--duration", "--rounds", `"fast"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
