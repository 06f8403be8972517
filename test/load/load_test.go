package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/harness"
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
	harness.AtOnce(8) // they wait for batches to end
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

// TestJobs: each program does its jobs, and has a row in the table of each.
func TestJobs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	args := []string{"jobs", "--compared", "300x200,3x100000", "--alone", "20x150", "--rounds", "1", "--shortest", "100ms",
		"--longest", "200ms"}
	if err := run(t.Context(), append(args, "--folder", t.TempDir()), &out); err != nil {
		t.Fatal(err)
	}
	for want, rows := range map[string]int{
		"300 requests of 200 bytes": 4, "3 requests of 100000 bytes": 4, "20 requests of 150 bytes": 2,
	} {
		_, table, found := strings.Cut(out.String(), want)
		if table, _, _ = strings.Cut(table, "\n\n"); !found || strings.Count(table, "\n") != rows-1 {
			t.Errorf("no table of %d rows for %s in\n%s", rows, want, out.String())
		}
	}
}

func TestBadJobs(t *testing.T) {
	t.Parallel()
	args := []string{"jobs", "--compared", "10,0x200", "--alone", "10x149", "--rounds", "0", "--longest", "1ms", "fast"}
	err := run(t.Context(), args, &bytes.Buffer{})
	for _, want := range []string{
		`--compared: "10"`, `"0x200"`, `--alone: "10x149"`, "--rounds", "--longest", `"fast"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestNight: a night ends without a 429, and says what it used.
func TestNight(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	args := []string{"night", "--requests", "120", "--quota", "1000", "--shortest", "1m", "--longest", "2m"}
	if err := run(t.Context(), append(args, "--folder", t.TempDir()), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"120 requests, 3.6 times the 1000 tokens", "each request has one result", "of its quota enqueued", "were reserved",
		"40 batches were created, and 0 creations or uploads answered 429", "serve computed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestBadNight(t *testing.T) {
	t.Parallel()
	args := []string{"night", "--requests", "0", "--quota", "-1", "--shortest", "2h", "--longest", "1h", "fast"}
	err := run(t.Context(), args, &bytes.Buffer{})
	for _, want := range []string{"--requests", "--quota", "--shortest", `"fast"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestEnqueued: what Gemini has enqueued counts from the first creation to the last.
func TestEnqueued(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	a := account{Batches: []geminisim.OperationInfo{
		{Requests: 10, CreateTime: at(0), EndTime: at(6)}, {Requests: 20, CreateTime: at(10), EndTime: at(99)},
		{Requests: 30, CreateTime: at(4)},
	}}
	if mean, waited := a.enqueued(); mean != (10*6+30*6)/10.0 || waited != 10*time.Second {
		t.Errorf("%v in %v", mean, waited)
	}
	if mean, waited := (account{}).enqueued(); mean != 0 || waited != 0 {
		t.Errorf("without a batch %v in %v", mean, waited)
	}
}

// TestCheckOutput: results that lack a key, have one twice, or have another's answer are refused.
func TestCheckOutput(t *testing.T) {
	t.Parallel()
	line := func(key, of string) string { return `{"key":"` + key + `","response":"Result of ` + of + `"}` + "\n" }
	first, second := requestKey(0), requestKey(1)
	for text, says := range map[string]string{
		line(first, first) + line(second, second): "",
		line(second, second):                      "have 1 lines",
		line(first, first) + line(first, first):   "a second time",
		line(first, second):                       "is not the answer",
		line("review-7", "review-7"):              "of no request",
		"{":                                       "reading the results",
	} {
		path := filepath.Join(t.TempDir(), "results.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := checkOutput(path, jobRow{requests: 2})
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}
