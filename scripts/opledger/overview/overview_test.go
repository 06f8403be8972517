package overview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// TestJudge: what needs an operator, the most urgent first, and nothing that is only on its way.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	const interval = 5 * time.Minute
	fine := Overview{
		At:      now,
		Pending: Pending{Total: ledger.Total{N: 12}, DueSince: now.Add(-59 * time.Minute)},
		Effects: Effects{Open: ledger.Total{N: 3}, FailingLately: 2, ClaimableSince: now.Add(-59 * time.Minute)},
		Unread:  Unread{Total: ledger.Total{N: 1}}, Intents: Intents{Total: ledger.Total{N: 1}},
		Unregistered: Unregistered{Total: ledger.Total{N: 1}},
	}
	if fine.judge(Options{Interval: interval}); len(fine.Problems) != 0 {
		t.Errorf("%+v", fine.Problems)
	}
	bad := Overview{
		At: now,
		Pending: Pending{
			DueSince: now.Add(-2 * time.Hour), SubmittedAt: now.Add(-33 * time.Hour), Late: ledger.Total{N: 3}, Missing: 2,
		},
		Effects: Effects{ClaimableSince: now.Add(-2 * time.Hour), First: "batches/a", Long: Failing{
			Total: ledger.Total{N: 1}, Since: now.Add(-23 * time.Hour), Operation: "batches/f", Error: "503 from the receiver",
		}},
		Unregistered: Unregistered{Long: ledger.Total{N: 2}},
		Dead:         Dead{Total: ledger.Total{N: 10_000, More: true}}, Conflicts: Conflicts{Total: ledger.Total{N: 1}},
		Unread: Unread{Unresolved: ledger.Total{N: 1}}, Intents: Intents{Abandoned: 2}, Broken: make([]ledger.Broken, 1),
	}
	bad.judge(Options{Interval: interval})
	var got []string
	for _, p := range bad.Problems {
		got = append(got, p.Words+" | "+p.Command)
	}
	want := []string{
		"10,000+ operations with a dead effect | opledger list --dead",
		"effects could have been run for 2h00m: do their workers and the scheduled passes run?" +
			" | opledger show batches/a",
		"1 effect failing for 23h00m: 503 from the receiver | opledger show batches/f",
		"a look-up is due for 2h00m: do the scheduled passes run? | opledger list --pending",
		"3 operations pending for too long, the oldest for 1d09h; Gemini does not know 2 of them | opledger list --late",
		"1 operation that ended in two ways within the last week | opledger list --conflict",
		"2 operations that an event reported, and that is not registered: no effect runs | opledger list --unregistered",
		"1 signed request that could not be read | opledger quarantine list --unresolved",
		"2 intents given up: no operation was found | opledger intent list",
		"1 document that cannot be read | opledger list",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// TestJudgeSaysNothingAbsurd: what could not be read makes no age of three centuries and no empty name.
func TestJudgeSaysNothingAbsurd(t *testing.T) {
	t.Parallel()
	some := ledger.Total{N: 1}
	o := Overview{
		At: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Pending: Pending{Late: some},
		Effects: Effects{Long: Failing{Total: some}}, Refused: Refused{Count: 20, Unannounced: 1},
	}
	o.judge(Options{Interval: 5 * time.Minute})
	if len(o.Problems) != 3 {
		t.Errorf("%+v", o.Problems)
	}
	for _, p := range o.Problems {
		if strings.Contains(p.Words, "106751d") || strings.Contains(p.Command, "''") {
			t.Errorf("%+v", p)
		}
	}
}

// TestJudgePause: a pause needs an operator once it has held an effect for an hour; one that is shorter,
// as a planned one may be, or holds none does not.
func TestJudgePause(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	holds := Overview{
		At: now, Paused: true,
		Effects: Effects{Open: ledger.Total{N: 3}, ClaimableSince: now.Add(-time.Hour), First: "batches/a"},
	}
	holds.judge(Options{Interval: 5 * time.Minute})
	want := []Problem{{
		About:   AboutPause,
		Words:   "effects are paused, and the first of 3 has waited for 1h00m, that of batches/a: end the pause once you can",
		Command: "opledger show batches/a", Playbook: "overdue",
	}}
	if !slices.Equal(holds.Problems, want) {
		t.Errorf("%+v", holds.Problems)
	}
	holds.judge(Options{Interval: 5 * time.Minute, File: true, StoreFlag: " --store sqlite:demo.db"})
	if got := holds.Problems[0].Command; got != "opledger resume --effects --store sqlite:demo.db" {
		t.Errorf("the command of a file: %s", got)
	}
	for _, since := range []time.Time{{}, now.Add(time.Second - time.Hour)} { // without any, what is open backs off
		quiet := holds
		quiet.Effects.ClaimableSince = since
		if quiet.judge(Options{Interval: 5 * time.Minute}); len(quiet.Problems) != 0 {
			t.Errorf("since %v: %+v", since, quiet.Problems)
		}
		if n := quiet.Notes; len(n) != 1 || n[0].About != AboutPause || n[0].Playbook == "" || n[0].Command == "" {
			t.Errorf("since %v: %+v", since, n)
		}
	}
}

// TestPartial: of lists that are longer than what was read, numbers and problems are at least so many, and of others
// exactly so many.
func TestPartial(t *testing.T) {
	t.Parallel()
	for _, partial := range []bool{true, false} {
		o := Overview{
			Partial: partial, Dead: Dead{Total: ledger.Total{N: 1}},
			Pending: Pending{Late: ledger.Total{N: 9}, Missing: 3, Partial: partial},
			Effects: Effects{
				FailingLately: 2, Partial: partial, Unknown: []UnknownEffect{{Name: "old", Count: 6}},
				Errors: []phrase.FailureGroup{{Failure: "503", Count: 1}, {Failure: "refused", Count: 1}},
			},
			Intents: Intents{Total: ledger.Total{N: 9}, Abandoned: 4, Partial: partial, decided: 5},
		}
		o.judge(Options{Interval: 5 * time.Minute})
		said := o.Intents.Words()
		for _, section := range o.Sections() {
			said += "\n" + section.Heading
			for _, p := range section.Problems {
				said += "\n" + p.Words + "; " + p.Detail
			}
		}
		atLeast := map[bool]string{true: "at least "}[partial]
		for _, want := range []string{
			", %s5 abandoned", ", %s4 given up\n", "\n%s4 intents given up", "\n%s6 effects of the rule old",
			"\n%s2 effects failed", "; the last error of %s1 of them: 503", "; Gemini does not know %s3 of them",
		} {
			if want := fmt.Sprintf(want, atLeast); !strings.Contains(said, want) {
				t.Errorf("partial %v: want %q: %s", partial, want, said)
			}
		}
		heading := "Needs an operator"
		if partial {
			heading += ": at least 4"
		}
		if o.Sections()[0].Heading != heading || !partial && strings.Contains(said, "at least") {
			t.Errorf("partial %v: want %q: %s", partial, heading, said)
		}
		o.Dead, o.Intents, o.Pending, o.Effects = Dead{}, Intents{}, Pending{}, Effects{}
		o.judge(Options{Interval: 5 * time.Minute})
		if heading := o.Sections()[0].Heading; heading != "Needs an operator" {
			t.Errorf("nothing needs one: %q", heading)
		}
	}
}
