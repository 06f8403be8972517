package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// localPattern is a time for a person: local, with its offset.
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

// TestListTable: a table for a person, newest first, whose times are local with their offset;
// stderr says where the ledger is.
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

// TestListJSON: one object; times in UTC; nothing is an empty list.
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

// TestListPages: --after takes what the page before said, in either form, and the pages together
// are the list.
func TestListPages(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("batches/n%d", i))
	}
	f.register(names...)
	slices.Reverse(names) // newest first
	for _, order := range []string{"newest", "--pending"} {
		var got []string
		after := ""
		for range 10 {
			args := []string{"list", "--json", "--limit", "3", "--store", f.store(), "--after", after}
			if order == "--pending" {
				args = append(args, order)
			}
			var page listed
			oneObject(t, cli(t, nil, args...).want(t, exitDone).out, &page)
			got = append(got, page.keys()...)
			if after = page.Next; after == "" {
				break
			}
		}
		if order == "--pending" {
			slices.Reverse(got) // the one submitted first is due first
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: the pages are %v", order, got)
		}
	}
	first := cli(t, nil, "list", "--limit", "3", "--store", f.store()).want(t, exitDone)
	_, after, found := strings.Cut(first.out, "more: --after ")
	if !found {
		t.Fatalf("the table does not say how to go on:\n%s", first.out)
	}
	second := cli(t, nil, "list", "--limit", "3", "--store", f.store(), "--after", strings.TrimSpace(after)).want(t,
		exitDone)
	if !strings.Contains(second.out, "batches/n3 ") || strings.Contains(second.out, "batches/n4 ") {
		t.Errorf("the second page is\n%s", second.out)
	}
}

// TestListFilters: --state and --collection in any case, and --pending.
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

// TestListDead: --dead finds the operations with a dead effect, in pages, also of one state or
// collection; what was waived or replayed is not among them [S2, G5].
func TestListDead(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a", "operations/b", "batches/c", "batches/waived", "batches/replayed")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.AbandonEffect(ctx, "batches/waived", "log", ledger.Abandonment{By: "ops", Why: "by hand"})
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
	if strings.Count(s.out, " log dead\n") != 3 {
		t.Errorf("%s", s.out)
	}
	cli(t, nil, "list", "--dead", "--pending", "--store", f.store()).want(t, exitUsage, "pending", "dead").complaint(t)
}

// TestNoLedgerThere: who looks into a ledger has mistyped its place; no file is made.
func TestNoLedgerThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	for _, args := range [][]string{
		{"list"}, {"list", "--intents"}, {"show", "batches/a"}, {"abandon", "batches/a", "--reason", "r"},
		{"forget", "batches/a", "--yes"},
		{"quarantine", "list"}, {"quarantine", "show", "msg"}, {"quarantine", "retry", "msg"},
	} {
		s := cli(t, []string{"OPLEDGER_STORE=sqlite:" + path}, args...).want(t, exitFailed, "there is no ledger in "+path,
			"--store sqlite:PATH")
		s.complaint(t)
		if s.out != "" {
			t.Errorf("stdout %q", s.out)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	cli(t, nil, "list", "--store", "sqlite:"+garbage).want(t, exitFailed, garbage).complaint(t)
}

// TestFlagBeatsEnvironment: settings come from the environment; flags override.
func TestFlagBeatsEnvironment(t *testing.T) {
	t.Parallel()
	f, other := newFile(t), newFile(t)
	f.register("batches/here")
	other.register("batches/there")
	variables := []string{"OPLEDGER_STORE=" + other.store(), "GOOGLE_CLOUD_PROJECT=p"}
	if s := cli(t, variables, "list").want(t, exitDone, other.store()); !strings.Contains(s.out, "batches/there") {
		t.Error(s.out)
	}
	if s := cli(t, variables, "list", "--store", f.store()).want(t, exitDone, f.store()); !strings.Contains(s.out,
		"batches/here") {
		t.Error(s.out)
	}
}
