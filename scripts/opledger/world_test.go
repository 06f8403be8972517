package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) { os.Exit(runMain(m)) }

func runMain(m *testing.M) (code int) {
	harness.AtOnce(8) // they wait for whole runs of the job
	var err error
	if binDir, err = os.MkdirTemp("", "opledger-command-"); err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	harness.SpendMemory() // what is behind the folder of programs
	code = m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 { // the worker is of a library that the Firestore client brings
		err = goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
	}
	if err = errors.Join(err, os.RemoveAll(binDir)); err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return code
}

// said is the outcome of a command.
type said struct {
	code     int
	out, err string
}

// cli runs a command line in this process, with exactly these variables.
func cli(t *testing.T, variables []string, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, err bytes.Buffer
	code := run(ctx, args, environment{variables: variables, in: strings.NewReader(""), out: &out, err: &err})
	return said{code, out.String(), err.String()}
}

// want checks the exit code, and that stderr contains each of these.
func (s said) want(t *testing.T, code int, onStderr ...string) said {
	t.Helper()
	if s.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", s.code, code, s.out, s.err)
	}
	for _, words := range onStderr {
		if !strings.Contains(s.err, words) {
			t.Errorf("stderr does not say %q: %s", words, s.err)
		}
	}
	return s
}

// complaint returns the command's error: the last line of stderr, or several lines below one that
// counts them; with --json the last line's message.
func (s said) complaint(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s.err, "\n"), "\n")
	var last struct{ Error errorJSON }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err == nil && last.Error.Message != "" {
		if last.Error.Code != s.code {
			t.Errorf("exit code %d, and the error says %d", s.code, last.Error.Code)
		}
		return last.Error.Message
	}
	match := regexp.MustCompile(`(?:^|\n)opledger: (.+(?:, and nothing was done:(?:\n  .+){2,})?)\n$`).FindStringSubmatch(
		s.err)
	begins := strings.Count("\n"+s.err, "\nopledger: ") - strings.Count(s.err,
		"opledger: the ledger is in ") - strings.Count(s.err, "opledger: effects that may be planned: ")
	if match == nil || begins != 1 {
		t.Fatalf("stderr does not end with the lines of one error: %q", s.err)
	}
	return match[1]
}

// file is a ledger of the test's own.
type file struct {
	t    *testing.T
	path string
}

func newFile(t *testing.T) file { return file{t, filepath.Join(t.TempDir(), "ledger.db")} }

// store is what --store and OPLEDGER_STORE take.
func (f file) store() string { return "sqlite:" + f.path }

// with works on the file's ledger, whose one rule plans the effect "log". It is made if it is not
// there.
func (f file) with(do func(context.Context, *ledger.Ledger) error) {
	f.t.Helper()
	f.ago(0, do)
}

// ago is with by a clock that is so much behind.
func (f file) ago(behind time.Duration, do func(context.Context, *ledger.Ledger) error) {
	f.t.Helper()
	ctx := f.t.Context()
	store, err := sqlite.Open(ctx, f.path, func() time.Time { return time.Now().Add(-behind) })
	if err != nil {
		f.t.Fatal(err)
	}
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "log", On: []operation.State{operation.Succeeded, operation.Failed}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err == nil {
		err = do(ctx, l)
	}
	if err != nil {
		f.t.Error(err)
	}
	if err := store.Close(); err != nil {
		f.t.Error(err)
	}
}

// empty makes the ledger, without a document in it.
func (f file) empty() {
	f.t.Helper()
	f.with(func(context.Context, *ledger.Ledger) error { return nil })
}

// register records operations, in this order.
func (f file) register(names ...string) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, text := range names {
			name, err := operation.ParseName(text, "")
			if err == nil {
				_, err = l.Register(ctx, ledger.Registration{Name: name, Submission: operation.Submission{JobKind: "test"}})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// settle takes in the end of an operation.
func (f file) settle(key operation.Key, state operation.State, result operation.Result) {
	f.t.Helper()
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Ingest(ctx, operation.Event{
			Name: operation.Name{Key: key, Resource: string(key)}, DeliveryID: "msg_" + key.ID(), Source: operation.Webhook,
			Type: "batch." + strings.ToLower(string(state)), State: state, UpdateTime: time.Now(), Result: result,
		})
		return err
	})
}
