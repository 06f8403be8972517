package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// A drill is a trouble, and how its playbook ends it.
type drill struct {
	playbook, about string
	signal          string // of signals.json that counts the trouble; empty: only Google Cloud sees it
	serve           bool   // the ledger is that of opledger serve: without a topic and without gcloud
	trouble         func(o *oncall, s *shell)
	sees            []string // in what the commands in front of the fix print
	repaired        func(o *oncall, s *shell)
	fix             []string // a text of each block of the fix that is run, in this order
	// after lets the world go on with what was troubled; hours have passed.
	after func(o *oncall)
	over  []string // what the commands at the end print, and
	gone  []string // what they do not; neither: they print nothing
}

// unrun are the blocks of commands that no drill runs, each with a text of it and why.
var unrun = map[string]map[string]string{
	"reconcile-absent": {"fuser ": "it is for a process: TestPlaybookOfServeThatHangs has two"},
}

// TestPlaybooks: each playbook's commands, as they are printed, end the trouble that its alert is about: a
// signal counts a line of the trouble, and none after the fix, when what was troubled goes on. Outside of the gate the
// first drill of each playbook is run, on Google Cloud and with opledger serve.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	books, signals := readPlaybooks(t), readTable[[]signal](t, "signals.json")
	run := map[string]map[string]bool{} // blocks, by playbook
	tried := map[string]bool{}
	for _, d := range drills() {
		book, ok := books[d.playbook]
		if !ok {
			t.Errorf("there is no playbook %s", d.playbook)
			continue
		}
		if run[d.playbook] == nil {
			run[d.playbook] = map[string]bool{}
		}
		for _, block := range d.blocks(t, book) {
			run[d.playbook][block] = true
		}
		of := fmt.Sprint(d.playbook, d.serve)
		if tried[of] && !harness.Thorough(t) {
			continue
		}
		tried[of] = true
		t.Run(d.playbook+"/"+d.about, func(t *testing.T) {
			t.Parallel()
			d.run(t, book, signals)
		})
	}
	for name, book := range books {
		if run[name] == nil {
			t.Errorf("no drill tries the playbook %s", name)
		}
		for _, block := range slices.Concat(slices.Collect(maps.Values(book.blocks))...) {
			excused := false
			for text, why := range unrun[name] {
				excused = excused || strings.Contains(block, text) && why != ""
			}
			if run[name][block] == excused {
				t.Errorf("%s: run: %v, excused: %v: %s", name, run[name][block], excused, block)
			}
		}
	}
}

// blocks are those of a playbook that a drill runs, in this order.
func (d drill) blocks(t *testing.T, book playbook) []string {
	t.Helper()
	return slices.Concat(d.begins(book), d.fixes(t, book), d.applying(book.blocks["Over"]))
}

// begins are the blocks in front of the fix.
func (d drill) begins(book playbook) []string {
	return d.applying(slices.Concat(book.blocks["How many, and which error"], book.blocks["One first"]))
}

// withServe begins a block that is for opledger serve alone.
const withServe = "# with serve\n"

// applying are those of some blocks that the drill's operator runs.
func (d drill) applying(blocks []string) []string {
	return slices.DeleteFunc(slices.Clone(blocks), func(block string) bool {
		if d.serve {
			return strings.Contains(block, "gcloud ")
		}
		return strings.HasPrefix(block, withServe)
	})
}

// fixes are the blocks of a playbook's fix that the drill names.
func (d drill) fixes(t *testing.T, book playbook) (all []string) {
	t.Helper()
	for _, text := range d.fix {
		i := slices.IndexFunc(book.blocks["Fix"], func(block string) bool { return strings.Contains(block, text) })
		if i < 0 {
			t.Fatalf("%s has no block with %q below Fix", d.playbook, text)
		}
		all = append(all, book.blocks["Fix"][i])
	}
	return all
}

func (d drill) run(t *testing.T, book playbook, signals []signal) {
	o := newOncall(t)
	s := &shell{o: o, given: map[string]string{}}
	if d.serve {
		s.run(o.serveSettings())
	} else {
		s.run(strings.NewReplacer("=PROJECT", "="+shiftProject, "=REGION", "=europe-west1", "=PREFIX", "=opledger").
			Replace(book.begins))
	}

	o.lately()
	d.trouble(o, s)
	d.counts(t, o, signals, true)
	var printed strings.Builder
	for _, block := range d.begins(book) {
		printed.WriteString(s.run(block))
	}
	for _, text := range d.sees {
		if !strings.Contains(printed.String(), text) {
			t.Errorf("the commands do not print %q, but\n%s", text, &printed)
		}
	}
	if d.repaired != nil {
		d.repaired(o, s)
	}
	var fixed strings.Builder
	for _, block := range d.fixes(t, book) {
		fixed.WriteString(s.run(block))
		if strings.Contains(block, "OPLEDGER_EFFECTS_PAUSED") {
			o.pauseIsKnown(block)
		}
	}
	o.later()
	o.lately()
	s.may = nil
	if d.after != nil {
		d.after(o)
	}
	var ended strings.Builder
	for _, block := range d.applying(book.blocks["Over"]) {
		ended.WriteString(s.run(block))
	}
	d.counts(t, o, signals, false)
	for _, text := range d.over {
		if !strings.Contains(ended.String(), text) {
			t.Errorf("in the end the commands do not print %q, but\n%s\nafter the fix printed\n%s", text, &ended, &fixed)
		}
	}
	for _, text := range d.gone {
		if strings.Contains(ended.String(), text) {
			t.Errorf("in the end the commands still print %q:\n%s\nafter the fix printed\n%s", text, &ended, &fixed)
		}
	}
	if len(d.over)+len(d.gone) == 0 && ended.Len() > 0 {
		t.Errorf("in the end the commands print\n%s", &ended)
	}
}

// counts checks that the signal counts a line of what the functions printed lately, or none. Of a signal
// whose alert is on absence it is the other way round.
func (d drill) counts(t *testing.T, o *oncall, signals []signal, troubled bool) {
	t.Helper()
	printed := o.lately()
	if d.signal == "" {
		return
	}
	i := slices.IndexFunc(signals, func(s signal) bool { return s.Name == d.signal })
	if i < 0 || signals[i].Alert == nil || signals[i].Alert.Playbook != d.playbook+".md" {
		t.Fatalf("%s is not the playbook of the signal %s", d.playbook, d.signal)
	}
	want := troubled != (signals[i].Alert.When == "absent")
	if got := slices.Contains(counting(t, signals, printed, &tally{}), d.signal); got != want {
		t.Errorf("in trouble: %v; the signal %s counts a line: %v, in %v", troubled, d.signal, got, printed)
	}
}
