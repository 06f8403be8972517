package trial_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
	"github.com/opledger/opledger/test/harness"
)

// TestLocalJSON: one JSON object on stdout and nothing else, exit code 0.
func TestLocalJSON(t *testing.T) {
	t.Parallel()
	s := commandtest.Run(t, nil, "local", "--operations", "10", "--speed", "1000", "--seed", "5", "--json").Want(t,
		terminal.ExitDone)
	var summary map[string]float64
	commandtest.OneObject(t, s.Out, &summary)
	for field, want := range map[string]float64{"operations": 10, "lost": 0, "doubled": 0, "regressed": 0, "wrong": 0,
		"seed": 5} {
		if got, there := summary[field]; !there || got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	for _, field := range []string{"deliveriesLost", "deliveriesRepeated", "deliveriesLate", "settledByReconcile"} {
		if _, there := summary[field]; !there {
			t.Errorf("no %s in %s", field, s.Out)
		}
	}
	if s.Err != "" {
		t.Errorf("stderr %q", s.Err)
	}
}

// TestLocalUnfinished: operations that are in progress when the time runs out are reported apart
// from lost ones, in the summary, in JSON and in the error.
func TestLocalUnfinished(t *testing.T) {
	t.Parallel()
	args := []string{"local", "--operations", "5000", "--faults", "none", "--max-time", "1ns"}
	s := commandtest.Run(t, nil, args...).Want(t, terminal.ExitFailed)
	if !strings.HasSuffix(s.Out,
		"\nunfinished 5000: the time ran out while they were in progress\nlost 0 · doubled 0 · regressed 0\n") {
		t.Errorf("%q", s.Out)
	}
	const want = "5000 of 5000 operations were unfinished when the time ran out; no promise was broken: " +
		"give them more with --max-time, or submit fewer with --operations"
	if got := s.Complaint(t); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var summary map[string]float64
	commandtest.OneObject(t, commandtest.Run(t, nil, append(args, "--json")...).Want(t, terminal.ExitFailed).Out, &summary)
	if summary["unfinished"] != 5000 || summary["lost"] != 0 {
		t.Errorf("%v", summary)
	}
}

// TestLocalJobs: jobs run beside the operations, and the summary has what became of their requests.
func TestLocalJobs(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	s := commandtest.Run(t, nil, "local", "--operations", "2", "--jobs", "2", "--requests", "120", "--speed", "1000",
		"--seed", "5", "--store", f.Store()).Want(t, terminal.ExitDone)
	counted := regexp.MustCompile(`\njobs: 2 ended, 240 requests, [1-9]\d* sent again, 0 twice, 0 lost\nlost 0 · `)
	if !counted.MatchString(s.Out) {
		t.Errorf("%q", s.Out)
	}
	shown := commandtest.Run(t, nil, "show", "jobs/local-5-1", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(shown.Out, "reviews") {
		t.Errorf("%q", shown.Out)
	}
}

// TestLocalLines: a pipe gets plain lines without escape sequences. The first one has the address of
// the console, and the last one the three counts.
func TestLocalLines(t *testing.T) {
	t.Parallel()
	s := commandtest.Run(t, nil, "local", "--operations", "5", "--speed", "1000", "--faults", "none").Want(t,
		terminal.ExitDone)
	watch := regexp.MustCompile(`^watch it in a browser: http://127\.0\.0\.1:\d+\nsubmitted `)
	if strings.Contains(s.Out, "\x1b") || !watch.MatchString(s.Out) {
		t.Errorf("%q", s.Out)
	}
	if !strings.HasSuffix(s.Out, "\nlost 0 · doubled 0 · regressed 0\n") {
		t.Errorf("%q", s.Out)
	}
}

// TestLocalStore: --store keeps the ledger in a file that list reads and that other runs can share,
// except a run with the same seed, whose operations have the same names.
func TestLocalStore(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	local := func(seed string) commandtest.Said {
		return commandtest.Run(t, nil, "local", "--operations", "4", "--speed", "1000", "--faults", "none", "--json",
			"--seed", seed,
			"--store", f.Store())
	}
	local("1").Want(t, terminal.ExitDone)
	local("2").Want(t, terminal.ExitDone)
	var l commandtest.Listed
	commandtest.OneObject(t, commandtest.Run(t, nil, "list", "--json", "--store", f.Store(), "--state",
		"SUCCEEDED").Want(t, terminal.ExitDone).Out, &l)
	if len(l.Operations) != 8 {
		t.Errorf("the file has %d operations, want 8", len(l.Operations))
	}
	local("1").Want(t, terminal.ExitFailed, "--seed").Complaint(t)
}

// signalling is a writer that signals when certain words have been written.
type signalling struct {
	bytes.Buffer
	words string
	seen  chan string
}

func (s *signalling) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(string(p), s.words) {
		s.seen <- string(p)
	}
	return n, err
}

// keeping runs local with --keep until it is still up. It calls while with what it had printed by then,
// and with where the ledger is; an interrupt must then end it with success.
func keeping(t *testing.T, while func(out, store string), args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	stderr := &signalling{words: "still up", seen: make(chan string, 1)}
	ended := make(chan int)
	go func() {
		ended <- root.Run(ctx, append([]string{"local", "--operations", "3", "--speed", "1000", "--faults", "none", "--keep"},
			args...), terminal.Environment{In: strings.NewReader(""), Out: &out, Err: stderr})
	}()
	select {
	case said := <-stderr.seen:
		store := regexp.MustCompile(`--store (sqlite:[^;]+);`).FindStringSubmatch(said)
		if store == nil {
			t.Fatalf("it does not say where the ledger is: %q", said)
		}
		while(out.String(), store[1])
	case code := <-ended:
		t.Fatalf("it did not stay up: %d %s", code, stderr.String())
	}
	cancel()
	if code := <-ended; code != terminal.ExitDone {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// TestLocalKeep: with --keep the summary is printed first; everything then keeps running, the
// ledger can be read, and an interrupt ends it with success.
func TestLocalKeep(t *testing.T) {
	t.Parallel()
	keeping(t, func(out, store string) {
		if err := json.Unmarshal([]byte(out), &map[string]float64{}); err != nil {
			t.Errorf("the summary was not there first: %v %q", err, out)
		}
		if s := commandtest.Run(t, nil, "list", "--store", store).Want(t, terminal.ExitDone); strings.Count(s.Out,
			"SUCCEEDED") != 3 {
			t.Errorf("%s", s.Out)
		}
		// No serve is missed, and what commands ask of one they ask of the run.
		var o struct{ Serve struct{ State string } }
		commandtest.OneObject(t, commandtest.Run(t, nil, "status", "--json", "--store", store).Out, &o)
		if o.Serve.State != "runs" {
			t.Errorf("status misses a serve: %+v", o)
		}
	}, "--json")
}

// TestLocalActs: with --allow-actions the pages of a run act, and without it they only read.
func TestLocalActs(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`watch it in a browser: (http://127\.0\.0\.1:\d+)\n`)
	first := func(out, store string) (url, key, page string) {
		var l commandtest.Listed
		commandtest.OneObject(t, commandtest.Run(t, nil, "list", "--json", "--store", store).Want(t, terminal.ExitDone).Out,
			&l)
		url, key = address.FindStringSubmatch(out)[1], l.Keys()[0]
		_, page = commandtest.Fetch(t, "GET", url+"/console/operation?key="+key, "")
		return url, key, page
	}
	keeping(t, func(out, store string) {
		url, key, page := first(out, store)
		offered := regexp.MustCompile(`do=rerun&amp;effect=([a-z]+)`).FindStringSubmatch(page)
		if offered == nil {
			t.Fatalf("no action is offered: %s", page)
		}
		p := commandtest.Pressed{Do: "rerun", Key: key, Effect: offered[1]}
		if code, answer := commandtest.Send(t, url, p.Form(t, url)); code != http.StatusOK ||
			!strings.Contains(answer, "was started by this process") {
			t.Errorf("%v: %d %s", p, code, answer)
		}
	}, "--allow-actions")
	keeping(t, func(out, store string) {
		if _, _, page := first(out, store); strings.Contains(page, "/console/ask") {
			t.Errorf("an action is offered: %s", page)
		}
	})
}

// TestLocalMetrics: a run with --metrics-listen shows Prometheus what its functions did.
func TestLocalMetrics(t *testing.T) {
	t.Parallel()
	port, err := harness.FreePort(t)
	if err != nil {
		t.Fatal(err)
	}
	keeping(t, func(string, string) {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`opledger_effects_total{effect="publish",outcome="finished"} 3`, "opledger_settle_duration_seconds_count{path=",
			"opledger_signal_passes_total ", "opledger_pass_end_timestamp_seconds ",
		} {
			if !strings.Contains(string(page), "\n"+want) {
				t.Errorf("no %s in %s", want, page)
			}
		}
	}, "--metrics-listen", fmt.Sprintf(":%d", port))
}
