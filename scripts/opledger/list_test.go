package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// localPattern matches a local time with its offset.
const localPattern = `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d`

// wantUTC: every time in JSON is RFC 3339 in UTC.
func wantUTC(t *testing.T, text string) {
	t.Helper()
	times := 0
	for _, match := range regexp.MustCompile(`"(\w+(?:At|Time|Since))": "([^"]*)"`).FindAllStringSubmatch(text, -1) {
		times++
		if _, err := time.Parse(time.RFC3339Nano, match[2]); err != nil || !strings.HasSuffix(match[2], "Z") {
			t.Errorf("%s is %q, not RFC 3339 in UTC", match[1], match[2])
		}
	}
	if times == 0 {
		t.Errorf("no times in %s", text)
	}
}

// oneObject decodes the one JSON object that text must be.
func oneObject(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if decoder.More() || !strings.HasPrefix(text, "{") {
		t.Errorf("not one JSON object: %s", text)
	}
}

type listed struct {
	Operations []operation.Record `json:"operations"`
	Next       string             `json:"next"`
}

func (l listed) keys() (keys []string) {
	for _, r := range l.Operations {
		keys = append(keys, string(r.Key))
	}
	return keys
}

// TestListTable: a table, newest first, with local times and their offset; stderr names the ledger.
func TestListTable(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/first", "operations/second")
	f.settle("batches/first", operation.Succeeded, operation.Result{})
	f.settle("batches/stranger", operation.Failed, operation.Result{})
	s := cli(t, nil, "list", "--store", f.store()).want(t, exitDone)
	if want := "opledger: the ledger is in " + f.store() + "\n"; s.err != want {
		t.Errorf("stderr %q, want %q", s.err, want)
	}
	at := localPattern
	want := regexp.MustCompile(`^OPERATION +STATE +JOB KIND +SUBMITTED +SETTLED +BY +LOOK-UPS +EFFECTS
batches/stranger +FAILED \(unregistered\) +- +- +` + at + ` +webhook +0 +-
operations/second +PENDING +test +` + at + ` +- +- +0 +-
batches/first +SUCCEEDED +test +` + at + ` +` + at + ` +webhook +0 +log open
$`)
	if !want.MatchString(s.out) {
		t.Errorf("the table is\n%s", s.out)
	}
}

// TestListJSON: one object, with times in UTC; an empty list is not null.
func TestListJSON(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register()
	empty := cli(t, nil, "list", "--json", "--store", f.store()).want(t, exitDone)
	if got := strings.Join(strings.Fields(empty.out), ""); got != `{"next":"","operations":[]}` {
		t.Errorf("an empty ledger is %s", empty.out)
	}
	if s := cli(t, nil, "list", "--store", f.store()).want(t, exitDone); s.out != "no operations\n" {
		t.Errorf("an empty ledger is %q", s.out)
	}
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	s := cli(t, nil, "list", "--json", "--store", f.store()).want(t, exitDone)
	wantUTC(t, s.out)
	var l listed
	oneObject(t, s.out, &l)
	if len(l.Operations) != 1 || l.Operations[0].Effects["log"] != operation.EffectOpen || l.Next != "" {
		t.Errorf("%+v", l)
	}
}

// TestListFilters: --state and --collection in upper and lower case, and --pending.
func TestListFilters(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "operations/b", "batches/c")
	f.settle("batches/a", operation.Failed, operation.Result{})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--state", "failed"}, []string{"batches/a"}},
		{[]string{"--state", "PENDING"}, []string{"batches/c", "operations/b"}},
		{[]string{"--state", "failed,PENDING"}, []string{"batches/c", "operations/b", "batches/a"}},
		{[]string{"--state", "failed", "--state", "failed"}, []string{"batches/a"}},
		{[]string{"--job-kind", "te*", "--limit", "2"}, []string{"batches/c", "operations/b"}},
		{[]string{"--job-kind", "other"}, nil},
		{[]string{"--collection", "Batches"}, []string{"batches/c", "batches/a"}},
		{[]string{"--collection", "batches", "--state", "pending"}, []string{"batches/c"}},
		{[]string{"--pending"}, []string{"operations/b", "batches/c"}},
		{[]string{"--state", "CANCELLED"}, nil},
	} {
		var l listed
		oneObject(t, cli(t, nil, append([]string{"list", "--json", "--store", f.store()}, c.args...)...).want(t,
			exitDone).out, &l)
		if !slices.Equal(l.keys(), c.want) {
			t.Errorf("%v: %v, want %v", c.args, l.keys(), c.want)
		}
	}
}

// TestListDead: --dead finds the operations with a dead effect, in pages, and of one state or
// collection; waived and replayed ones are not among them [S2, G5].
func TestListDead(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a", "operations/b", "batches/c", "batches/waived", "batches/replayed")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.WaiveEffect(ctx, "batches/waived", "log", ledger.Abandonment{By: "ops", Why: "by hand"})
		_, replayErr := l.Replay(ctx, ledger.Message{Operation: "batches/replayed", Effect: "log", ID: "m1"})
		return errors.Join(err, replayErr)
	})
	f.register("batches/open")
	f.settle("batches/open", operation.Succeeded, operation.Result{})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"batches/c", "operations/b", "batches/a"}},
		{[]string{"--collection", "batches"}, []string{"batches/c", "batches/a"}},
		{[]string{"--state", "succeeded"}, []string{"batches/c", "operations/b", "batches/a"}},
		{[]string{"--state", "failed"}, nil},
		{[]string{"--state", "succeeded", "--collection", "operations"}, []string{"operations/b"}},
		{[]string{"--limit", "2"}, []string{"batches/c", "operations/b"}},
	} {
		var l listed
		oneObject(t, cli(t, nil, append([]string{"list", "--dead", "--json", "--store", f.store()}, c.args...)...).want(t,
			exitDone).out, &l)
		if !slices.Equal(l.keys(), c.want) || (l.Next != "") != (len(c.args) > 0 && c.args[0] == "--limit") {
			t.Errorf("%v: %v, want %v", c.args, l.keys(), c.want)
		}
	}
	s := cli(t, nil, "list", "--dead", "--store", f.store()).want(t, exitDone)
	if !regexp.MustCompile(`^OPERATION +EFFECT +DIED +ATTEMPTS +ERROR
(?:[a-z]+/[abc] +log +` + localPattern + ` +1 +the target said no\n){3}
EFFECTS +NEWEST +ERROR
3 +` + localPattern + ` +the target said no
$`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	var dead struct {
		Effects []deadEffect
		Errors  []phrase.FailureGroup
	}
	oneObject(t, cli(t, nil, "list", "--dead", "--json", "--store", f.store()).want(t, exitDone).out, &dead)
	if len(dead.Effects) != 3 || dead.Effects[0].Operation != "batches/c" || dead.Effects[0].DiedAt.IsZero() ||
		len(dead.Errors) != 1 || dead.Errors[0].Count != 3 {
		t.Errorf("%+v", dead)
	}
	cli(t, nil, "list", "--dead", "--limit", "2", "--store", f.store()).want(t, exitDone).says(t,
		"\n2 of 3\nmore: --after ")
	cli(t, nil, "list", "--dead", "--pending", "--store", f.store()).want(t, exitUsage, "pending", "dead").complaint(t)
}

// TestListDeadAlert: a dead alert whose subject is no operation is listed, and replayed with the
// other dead effects.
func TestListDeadAlert(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	effect := f.deadAlert("intents/nightly")
	s := cli(t, nil, "list", "--dead", "--store", f.store()).want(t, exitDone)
	row := regexp.MustCompile(`(?m)^intents/nightly +` +
		regexp.QuoteMeta(effect) + ` +` + localPattern + ` +1 +no answer$`)
	if !row.MatchString(s.out) || !strings.Contains(s.out, "\nbatches/a ") {
		t.Errorf("%s", s.out)
	}
	if s := cli(t, nil, "list", "--store", f.store()).want(t, exitDone); strings.Contains(s.out, "intents/nightly") {
		t.Errorf("%s", s.out)
	}
	s = cli(t, nil, "replay", "--dead", "--dry-run", "--store", f.store()).want(t, exitDone)
	if !strings.Contains(s.out, "intents/nightly  "+effect+"  dead") || !strings.Contains(s.out, "batches/a") {
		t.Errorf("%s", s.out)
	}
	cli(t, nil, "waive", "intents/nightly", "--effect", effect, "--reason", "read", "--store", f.store()).want(t,
		exitDone)
	if s := cli(t, nil, "list", "--dead", "--store", f.store()).want(t, exitDone); strings.Contains(s.out,
		"intents/nightly") {
		t.Errorf("%s", s.out)
	}
}
