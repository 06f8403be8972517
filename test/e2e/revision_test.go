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
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// The revisions of which programs are built. The first is the source as it is. The next adds a field
// to records, effects and intents, which counts its own writes of each, and reads the number 2. The
// last writes that number, too.
const (
	oldRevision    = "old"
	newRevision    = "new"
	raisedRevision = "raised"
)

// A rewrite replaces what a pattern matches in a file of the module, everywhere in it.
type rewrite struct{ file, pattern, by string }

var (
	adds = []rewrite{
		{"shared/operation/record.go", "(Version +int64) +`json:\"version\"", "Added int64 `json:\"added,omitempty\" " +
			"firestore:\"added,omitempty\"`\n\t$0"},
		{"shared/ledger/effect.go", "(Version +int64) +`json:\"version\"", "Added int64 `json:\"added,omitempty\" " +
			"firestore:\"added,omitempty\"`\n\t$0"},
		{"shared/ledger/intent.go", "(Version +int64) +`json:\"version\"", "Added int64 `json:\"added,omitempty\" " +
			"firestore:\"added,omitempty\"`\n\t$0"},
		{"shared/ledger/ledger.go", `(rec|effect)\.Version\+\+`, "$0\n\t$1.Added++"},
		{"shared/ledger/intent.go", `intent\.Version\+\+`, "$0\n\tintent.Added++"},
		{"shared/operation/record.go", `NewestSchema = 1`, "NewestSchema = 2"},
	}
	raises = append(adds[:len(adds):len(adds)],
		rewrite{"shared/operation/record.go", `SchemaVersion = 1`, "SchemaVersion = 2"})
)

// buildRevisions builds a program of each revision.
var buildRevisions = sync.OnceValues(func() (programs map[string]string, err error) {
	programs = map[string]string{}
	for revision, rewrites := range map[string][]rewrite{oldRevision: nil, newRevision: adds, raisedRevision: raises} {
		program, buildErr := buildRevision(revision, rewrites)
		programs[revision], err = program, errors.Join(err, buildErr)
	}
	return programs, err
})

func buildRevision(revision string, rewrites []rewrite) (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(binDir, "revision-"+revision)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
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
			return "", err
		}
		pattern := regexp.MustCompile(r.pattern)
		if !pattern.Match(text) {
			return "", fmt.Errorf("%s has no %s: make the newer revision in another way", r.file, r.pattern)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], pattern.ReplaceAll(text, []byte(r.by)), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	return program, harness.Build("", module+"deployed/revision", program, "-overlay", list)
}

// An upgraded is a ledger that programs of several revisions write, one after the other.
type upgraded struct {
	*testing.T
	programs  map[string]string
	where     string
	variables []string
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
		test(upgraded{t, programs, filepath.Join(t.TempDir(), "ledger.db"), nil})
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		test(upgraded{t, programs, "firestore:" + harness.ProjectID(t), []string{
			"FIRESTORE_EMULATOR_HOST=" + harness.Firestore(t),
		}})
	})
}

// newerThan is the exit code of a call about what a newer revision wrote.
const newerThan = 3

// call makes a call as a revision, and returns its exit code and what it printed.
func (u upgraded) call(revision, call string, args ...string) (code int, out string) {
	u.Helper()
	command := exec.CommandContext(u.Context(), u.programs[revision], append([]string{u.where, call}, args...)...)
	command.Env = append([]string{"TMPDIR=" + u.TempDir()}, u.variables...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run() // the code says it
	if code = command.ProcessState.ExitCode(); code != 0 && code != newerThan {
		u.Fatalf("%s: %s %v: %d\n%s", revision, call, args, code, stderr.String())
	}
	return code, strings.TrimSpace(stdout.String())
}

// must makes a call that succeeds.
func (u upgraded) must(revision, call string, args ...string) string {
	u.Helper()
	code, out := u.call(revision, call, args...)
	if code != 0 {
		u.Fatalf("%s: %s %v: a newer revision wrote it", revision, call, args)
	}
	return out
}

// counts are a document's version and number, and how many of its writes a newer revision made.
type counts struct{ Schema, Version, Added int64 }

// stored returns the counts of an operation's record, effect and intent.
func (u upgraded) stored(name string) (all [3]counts) {
	u.Helper()
	var story struct {
		Record  counts
		Effects []counts
	}
	_, shown := u.call(raisedRevision, "show", name)
	_, intent := u.call(raisedRevision, "intent", name)
	err := errors.Join(json.Unmarshal([]byte(shown), &story), json.Unmarshal([]byte(intent), &all[2]))
	if err != nil {
		u.Fatal(err)
	}
	all[0] = story.Record
	if len(story.Effects) > 0 {
		all[1] = story.Effects[0]
	}
	return all
}

// TestRevisionsTakeTurns: an older revision's writes between a newer one's keep the field that the
// newer one added, in records, effects and intents, and the job is done once, whichever begins [L5].
func TestRevisionsTakeTurns(t *testing.T) {
	onBothStores(t, func(u upgraded) {
		for first, turns := range [][2]string{{newRevision, oldRevision}, {oldRevision, newRevision}} {
			name, lease := fmt.Sprintf("batches/turn-%d", first), ""
			u.must(newRevision, "intend", name)
			for i, step := range [][]string{
				{"register"}, {"event", string(operation.Running)}, {"note", "rate-limited"}, {"note", "not-found"},
				{"event", string(operation.Succeeded)}, {"claim"}, {"extend"}, {"extend"}, {"finish"},
			} {
				revision := turns[i%2]
				args := append([]string{name}, step[1:]...)
				if step[0] == "extend" || step[0] == "finish" {
					args = append(args, lease)
				}
				var before [3]counts
				if i > 0 {
					before = u.stored(name)
				} else if err := json.Unmarshal([]byte(u.must(newRevision, "intent", name)), &before[2]); err != nil {
					u.Fatal(err)
				}
				out := u.must(revision, step[0], args...)
				if step[0] == "claim" {
					lease = out
				}
				for kind, after := range u.stored(name) {
					writes := after.Version - before[kind].Version
					if revision == oldRevision {
						writes = 0
					}
					if after.Added != before[kind].Added+writes {
						u.Errorf("%s: %v of document %d: %+v became %+v", revision, step, kind, before[kind], after)
					}
				}
			}
			u.done(name, 1)
		}
	})
}

// done checks that an operation has ended, its effect was done by one claim, and each event left one
// delivery. Its record has a number.
func (u upgraded) done(name string, schema int) {
	u.Helper()
	var story ledger.Story
	_, shown := u.call(raisedRevision, "show", name)
	shown = strings.ReplaceAll(shown, `"schema":2`, `"schema":1`) // read here by the revision of the test
	if err := json.Unmarshal([]byte(shown), &story); err != nil {
		u.Fatal(err)
	}
	if story.Record.State != operation.Succeeded || story.Record.Effects["publish"] != operation.EffectDone ||
		len(story.Effects) != 1 || story.Effects[0].State != ledger.EffectDone || story.Effects[0].Fence != 1 ||
		len(story.Deliveries) != 2 {
		u.Errorf("%s: %s", name, shown)
	}
	if all := u.stored(name); all[0].Schema != int64(schema) {
		u.Errorf("%s has the numbers %+v, want %d", name, all, schema)
	}
}

// TestRevisionRolledBack: what a revision with a raised number wrote is read by the release before it,
// and left alone by an older one, which goes on with all else. Nothing is lost or done twice [L6].
func TestRevisionRolledBack(t *testing.T) {
	onBothStores(t, func(u upgraded) {
		const running, succeeded = string(operation.Running), string(operation.Succeeded)
		u.must(oldRevision, "register", "batches/both")
		u.must(oldRevision, "event", "batches/both", running)
		for _, name := range []string{"batches/raised", "batches/open"} {
			u.must(raisedRevision, "register", name)
			u.must(raisedRevision, "event", name, running)
		}
		u.must(raisedRevision, "event", "batches/open", succeeded)
		u.must(raisedRevision, "event", "batches/both", succeeded)

		for _, c := range [][]string{
			{"event", "batches/raised", succeeded}, {"register", "batches/raised"}, {"note", "batches/raised", "x"},
			{"claim", "batches/open"}, {"claim", "batches/both"}, {"event", "batches/both", "FAILED"},
		} {
			if code, out := u.call(oldRevision, c[0], c[1:]...); code != newerThan {
				u.Errorf("rolled back behind it: %v: %s", c, out)
			}
		}
		u.must(oldRevision, "register", "batches/else")
		u.must(oldRevision, "event", "batches/else", running)
		u.must(oldRevision, "event", "batches/else", succeeded)
		var due struct{ Items, Broken []any }
		if err := json.Unmarshal([]byte(u.must(oldRevision, "due", "batches/else")), &due); err != nil ||
			len(due.Items) != 1 || len(due.Broken) != 2 {
			u.Errorf("due: %+v, %v", due, err)
		}
		u.must(oldRevision, "finish", "batches/else", u.must(oldRevision, "claim", "batches/else"))
		u.done("batches/else", 1)

		u.must(newRevision, "event", "batches/raised", succeeded) // rolled back to the release before
		u.must(newRevision, "finish", "batches/open", u.must(newRevision, "claim", "batches/open"))
		u.must(newRevision, "finish", "batches/both", u.must(newRevision, "claim", "batches/both"))
		u.must(raisedRevision, "finish", "batches/raised", u.must(raisedRevision, "claim", "batches/raised"))
		for _, name := range []string{"batches/raised", "batches/open", "batches/both"} {
			u.done(name, 2)
		}
	})
}
