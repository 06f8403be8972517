package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/test/harness"
)

// buildRevisions builds a program of each revision, all at once.
var buildRevisions = sync.OnceValues(func() (programs map[string]string, err error) {
	var building errgroup.Group
	programs = map[string]string{}
	for revision, rewrites := range map[string][]rewrite{oldRevision: nil, newRevision: adds, raisedRevision: raises} {
		dir := filepath.Join(binDir, "revision-"+revision)
		program := filepath.Join(dir, "program")
		programs[revision] = program
		building.Go(func() error { return buildRevision(dir, program, rewrites) })
	}
	return programs, building.Wait()
})

func buildRevision(dir, program string, rewrites []rewrite) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	replace := map[string]string{
		filepath.Join(root, "deployed/revision/main.go"): filepath.Join(root, "test/e2e/testdata/revision/main.go"),
	}
	for i, r := range rewrites {
		path := filepath.Join(root, r.file)
		from := path
		if replace[path] != "" {
			from = replace[path]
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		pattern := regexp.MustCompile(r.pattern)
		if !pattern.Match(text) {
			return fmt.Errorf("%s has no %s: make the newer revision in another way", r.file, r.pattern)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], pattern.ReplaceAll(text, []byte(r.by)), 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	return harness.Build("", module+"deployed/revision", program, "-overlay", list)
}

// An upgraded is a ledger that programs of several revisions write, as while one is deployed: each
// has a process, and these take turns.
type upgraded struct {
	*testing.T
	processes map[string]*reviser
}

// A reviser is a process of a revision that makes calls.
type reviser struct {
	calls   *json.Encoder
	answers *json.Decoder
	said    bytes.Buffer // on stderr; read when the process has ended
	wait    func() error
}

// onBothStores runs a test on a ledger in each store.
func onBothStores(t *testing.T, test func(u upgraded)) {
	t.Parallel()
	if err := dependOnSources(); err != nil {
		t.Fatal(err)
	}
	programs, err := buildRevisions()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(startRevisions(t, programs, filepath.Join(t.TempDir(), "ledger.db")))
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		emulator := "FIRESTORE_EMULATOR_HOST=" + harness.Firestore(t)
		test(startRevisions(t, programs, "firestore:"+harness.ProjectID(t), emulator))
	})
}

func startRevisions(t *testing.T, programs map[string]string, where string, variables ...string) upgraded {
	t.Helper()
	u := upgraded{t, map[string]*reviser{}}
	for revision, program := range programs {
		command, r := exec.Command(program, where), &reviser{}
		command.Env = append([]string{"TMPDIR=" + t.TempDir()}, variables...)
		command.Stderr = &r.said
		in, inErr := command.StdinPipe()
		out, outErr := command.StdoutPipe()
		if err := errors.Join(inErr, outErr, command.Start()); err != nil {
			t.Fatal(err)
		}
		r.calls, r.answers, r.wait = json.NewEncoder(in), json.NewDecoder(out), sync.OnceValue(func() error {
			return errors.Join(in.Close(), command.Wait())
		})
		t.Cleanup(func() {
			if err := r.wait(); err != nil {
				t.Errorf("%s: %v %s", revision, err, &r.said)
			}
		})
		u.processes[revision] = r
	}
	return u
}

// call makes a call as a revision. It returns what was answered, and whether a newer revision wrote
// what the call is about.
func (u upgraded) call(revision, call string, args ...string) (newer bool, out string) {
	u.Helper()
	var answer struct {
		Out   json.RawMessage
		Newer bool
		Error string
	}
	r := u.processes[revision]
	if err := errors.Join(r.calls.Encode(append([]string{call}, args...)), r.answers.Decode(&answer)); err != nil {
		u.Fatalf("%s: %s %v: %v; it ended: %v", revision, call, args, err, r.wait())
	}
	if answer.Error != "" && !answer.Newer {
		u.Fatalf("%s: %s %v: %s", revision, call, args, answer.Error)
	}
	return answer.Newer, string(answer.Out)
}

// must makes a call that succeeds.
func (u upgraded) must(revision, call string, args ...string) string {
	u.Helper()
	newer, out := u.call(revision, call, args...)
	if newer {
		u.Fatalf("%s: %s %v: a newer revision wrote it", revision, call, args)
	}
	return out
}
