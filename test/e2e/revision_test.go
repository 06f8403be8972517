package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The revisions of which programs are built. The first is the source as it is. The next adds a field
// to records, effects and intents, which counts its own writes of each, and reads the number 3. The
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
		{"shared/operation/record.go", `NewestSchema = 2`, "NewestSchema = 3"},
	}
	raises = append(adds[:len(adds):len(adds)],
		rewrite{"shared/operation/record.go", `SchemaVersion = 1`, "SchemaVersion = 3"})
)

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
			var before [3]counts
			if err := json.Unmarshal([]byte(u.must(newRevision, "intent", name)), &before[2]); err != nil {
				u.Fatal(err)
			}
			for i, step := range [][]string{
				{"register"}, {"event", string(operation.Running)}, {"note", "rate-limited"}, {"note", "not-found"},
				{"event", string(operation.Succeeded)}, {"claim"}, {"extend"}, {"extend"}, {"finish"},
			} {
				revision := turns[i%2]
				args := append([]string{name}, step[1:]...)
				if step[0] == "extend" || step[0] == "finish" {
					args = append(args, lease)
				}
				out := u.must(revision, step[0], args...)
				if step[0] == "claim" {
					lease = out
				}
				all := u.stored(name)
				for kind, after := range all {
					writes := after.Version - before[kind].Version
					if revision == oldRevision {
						writes = 0
					}
					if after.Added != before[kind].Added+writes {
						u.Errorf("%s: %v of document %d: %+v became %+v", revision, step, kind, before[kind], after)
					}
				}
				before = all
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
	shown = strings.ReplaceAll(shown, `"schema":3`, `"schema":2`) // read here by the revision of the test
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
			if newer, out := u.call(oldRevision, c[0], c[1:]...); !newer {
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
			u.done(name, 3)
		}
	})
}
