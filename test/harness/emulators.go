package harness

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/ledger/emulator"
)

// The environment variables of the emulators: the address of one that runs already, and whether a
// missing one fails the test instead of skipping it.
const (
	envFirestore = "FIRESTORE_EMULATOR_HOST"
	envPubSub    = "PUBSUB_EMULATOR_HOST"
	// The same of those that StartEmulators started. No client reads these.
	envSharedFirestore = "TEST_FIRESTORE_EMULATOR"
	envSharedPubSub    = "TEST_PUBSUB_EMULATOR"
	envRequire         = "OPLEDGER_REQUIRE_EMULATORS"
)

// The emulators. They are the one thing that tests share: starting one per test would cost seconds
// each, and ProjectID keeps the tests apart.
var (
	firestore = &shared{name: "firestore", env: envFirestore, own: envSharedFirestore, start: emulator.StartFirestore}
	pubsub    = &shared{name: "pubsub", env: envPubSub, own: envSharedPubSub, start: emulator.StartPubSub}
)

// A shared is an emulator that is started at most once.
type shared struct {
	name  string
	env   string
	own   string
	start func(context.Context) (*emulator.Process, error)

	mu      sync.Mutex
	main    bool   // Main runs the tests: this program can be a keeper
	given   string // address of an emulator that runs already and is not ours
	process *emulator.Process
	err     error
}

// Main runs the tests, then stops the emulators that they started, and returns the code to exit
// with.
//
// It takes the emulators' variables out of the environment, so that a client goes where its test
// sends it and nowhere else.
func Main(m *testing.M) int {
	for _, s := range []*shared{firestore, pubsub} {
		if os.Getenv(envKeep) == s.name {
			return s.keep()
		}
		s.main = true
		s.given = cmp.Or(os.Getenv(s.own), os.Getenv(s.env))
		if err := os.Unsetenv(s.env); err != nil {
			panic(err) // only a malformed name fails
		}
		defer s.stop()
	}
	return m.Run()
}

// StartEmulators starts the emulators for the programs that this process will start, and names them
// in the environment, where Main finds them. One that the environment names already is kept. The
// function that it returns stops what it started.
func StartEmulators(ctx context.Context) (stop func(), err error) {
	var started []*emulator.Process
	stop = func() {
		for _, process := range started {
			process.Stop()
		}
	}
	for _, s := range []*shared{firestore, pubsub} {
		if os.Getenv(s.own) != "" {
			continue
		}
		process, err := s.start(ctx)
		if err == nil {
			started = append(started, process)
			err = os.Setenv(s.own, process.Addr())
		}
		if err != nil {
			stop()
			return nil, err
		}
	}
	return stop, nil
}

// Firestore returns the address of a Firestore emulator.
func Firestore(t testing.TB) string {
	t.Helper()
	return firestore.addr(t)
}

// PubSub returns the address of a Pub/Sub emulator.
func PubSub(t testing.TB) string {
	t.Helper()
	return pubsub.addr(t)
}

// ProjectID returns the id of a project that no other test uses: the emulators keep projects apart
// and make them on use.
func ProjectID(testing.TB) string { return "test-" + strings.ToLower(rand.Text()[:20]) }

// Missing ends a test that needs something which is not here: it skips the test with a message that
// says what, or fails it where OPLEDGER_REQUIRE_EMULATORS=1 says that nothing may be skipped.
func Missing(t testing.TB, message string) {
	t.Helper()
	if os.Getenv(envRequire) == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// Without lets a test go on that cannot try a part of what it tries: it logs a message that says what
// is not tried and why. Where OPLEDGER_REQUIRE_EMULATORS=1 it fails the test, unless the environment
// variable is "none": the gate sets that when it has printed that the part is not run.
func Without(t testing.TB, variable, message string) {
	t.Helper()
	if os.Getenv(envRequire) == "1" && os.Getenv(variable) != "none" {
		t.Fatalf("%s; %s=none lets the test pass without it", message, variable)
	}
	t.Logf("NOT RUN: %s", message)
}

// Program returns where a program is. A test that needs it is ended by Missing where it is not
// installed; what says what is not tested without it.
func Program(t testing.TB, name, what string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, fmt.Sprintf("%s is not installed; %s", name, what))
	}
	return path
}

func (s *shared) addr(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.given != "":
		return s.given
	case s.process == nil && s.err == nil:
		if s.main {
			if s.given = s.kept(); s.given != "" {
				return s.given
			}
		}
		s.process, s.err = s.start(context.Background()) // it serves later tests, too: not this test's context
	}
	if s.err != nil {
		if errors.Is(s.err, emulator.ErrMissing) {
			Missing(t, fmt.Sprintf("%v (or set %s to the address of a running one)", s.err, s.env))
		}
		t.Fatal(s.err)
	}
	return s.process.Addr()
}

func (s *shared) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Stop()
	}
}
