package console

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestOperationsFirst: the first page of all operations begins with what needs attention, once; a page
// with a filter has its order alone.
func TestOperationsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.register("batches/newest", "", "")
	page := w.get("/console/operations").Body.String()
	dead, conflict, newest := strings.Index(page, `id="row-batches/dead"`), strings.Index(page, `id="row-batches/done"`),
		strings.Index(page, `id="row-batches/newest"`)
	if dead < 0 || conflict < dead || newest < conflict || strings.Count(page, `id="row-batches/dead"`) != 1 {
		t.Errorf("dead at %d, conflict at %d, newest at %d: %s", dead, conflict, newest, page)
	}
	if page := w.get("/console/operations?collection=batches").Body.String(); strings.Contains(page, "Needs attention") {
		t.Errorf("%s", page)
	}
}

// TestForAll: a page with a filter says how many operations it finds, and the command for all of them.
func TestForAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	for address, want := range map[string][]string{
		"/console/operations?show=dead":     {"1 in all.", "opledger replay --dead --dry-run --store sqlite:demo.db"},
		"/console/operations?show=conflict": {"1 in all.", "opledger reconcile NAME --store sqlite:demo.db"},
		"/console/operations?show=pending":  {"2 in all.", "opledger reconcile --store sqlite:demo.db"},
		"/console/operations?show=dead&since=24h&job=night*": {
			"opledger replay --dead --job-kind &#39;night*&#39; --since 24h --dry-run",
		},
		"/console/operations?state=SUCCEEDED&collection=batches": {
			"4 in all.", "opledger replay --state SUCCEEDED --collection batches --dry-run",
		},
		"/console/effects?show=dead": {
			"Operations with a dead effect in all: 1.", "opledger replay --dead --store sqlite:demo.db",
		},
		"/console/effects?show=dead&error=answered+400": {
			"opledger replay --dead --error &#39;answered 400&#39; --dry-run --store sqlite:demo.db",
		},
		"/console/effects?show=dead&error=answered+410": {"None of those on this page."},
	} {
		page := w.get(address).Body.String()
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("%s does not say %q: %s", address, words, page)
			}
		}
	}
	if page := w.get("/console/operations?since=24h").Body.String(); strings.Contains(page, "opledger replay") {
		t.Errorf("a command for what no command finds: %s", page)
	}
	if page := w.get("/console/operations?show=conflict&state=FAILED").Body.String(); strings.Contains(page,
		string(operation.Key("batches/done"))) {
		t.Errorf("%s", page)
	}
}

// TestUnregistered: an operation that only an event reported is on the overview and in a list of its
// own, and its page says what is missing. It does not say that nothing is left to do [W5].
func TestUnregistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	says(t, w.get("/").Body.String(), "unregistered operation", "an event reported them, and no effect runs")
	says(t, w.get("/console/operations?show=unregistered").Body.String(), "opledger register NAME",
		"opledger resolve NAME", "stranger")
	page := w.get("/console/operation?key=batches%2Fstranger").Body.String()
	says(t, page, "It is not registered: an event reported it, and no submitter registered it: no effect of it runs.",
		"opledger register batches/stranger", "opledger resolve batches/stranger")
	if strings.Contains(page, "Nothing is left to do") {
		t.Error("it says that nothing is left to do")
	}
}

// TestLate: operations that are pending for too long have a list of their own, by age, however many are
// looked up before them [R4].
func TestLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, hours := range []int{33, 20, 30} {
		key := operation.Key(fmt.Sprint("operations/late", i))
		_, err := w.Operations.Register(w.Context(), ledger.Registration{
			Name:        operation.Name{Key: key, Resource: "models/veo/" + string(key)},
			SubmittedAt: w.now.Add(-time.Duration(hours) * time.Hour),
		})
		w.do(err)
	}
	w.register("batches/young", "", "")
	says(t, w.get("/").Body.String(), "3 operations pending for too long, the oldest for 1d09h", "show=late")
	page := w.get("/console/operations?show=late").Body.String()
	says(t, page, "late0", "late2", "late1")
	if strings.Contains(page, "young") {
		t.Error("it lists one that is not late")
	}
}

// TestPreviousPage: a page leads to the one before it, and that is the same page as before.
func TestPreviousPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 * rows {
		w.register(operation.Key(fmt.Sprintf("batches/n%03d", i)), "", "")
		w.pass(time.Second)
	}
	first := w.get(operationsPath).Body.String()
	if follow(first, "Previous page") != "" {
		t.Error("there is a page before the first")
	}
	second := w.get(follow(first, "Next page")).Body.String()
	third := w.get(follow(second, "Next page")).Body.String()
	says(t, third, "row-batches/n044", "row-batches/n000")
	back := w.get(follow(third, "Previous page")).Body.String()
	says(t, back, "row-batches/n089", "row-batches/n045")
	if again := follow(back, "Previous page"); again != operationsPath {
		t.Errorf("the page before the second is %s", again)
	}
	if forth := follow(back, "Next page"); forth != follow(second, "Next page") {
		t.Errorf("%s", forth)
	}
}

// follow returns where the link with that name leads to; empty: the page has none.
func follow(page, name string) string {
	before, _, found := strings.Cut(page, `">`+name+`</a>`)
	if !found {
		return ""
	}
	return html.UnescapeString(before[strings.LastIndex(before, `href="`)+len(`href="`):])
}
