package overview

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestJudgeServe: that no serve works on the ledger is one problem, in place of the questions about passes and workers;
// a note while nothing is late, where serve was stopped in order. What ends a pause is then to start it, which no
// command does for a silent one.
func TestJudgeServe(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	const nothing = ": nothing is received, looked up or performed"
	const none = "no opledger serve runs on this ledger" + nothing
	const gone = "opledger serve crashed, or was killed, and none runs on this ledger" + nothing
	const silent = "opledger serve on http://127.0.0.1:8080 does not answer: it hangs, or its process is stopped"
	const command = " | opledger serve --store sqlite:demo.db"
	const start = "; start opledger serve with its variables and flags, such as --port and --forward-to" + command
	const again = "start opledger serve again, without OPLEDGER_EFFECTS_PAUSED"
	hangs := Serve{State: ServeSilent, URL: "http://127.0.0.1:8080"}
	late := Overview{
		At: now, LastPass: ledger.Pass{Outcome: ledger.PassDone, Ended: now.Add(-time.Hour)},
		Pending: Pending{DueSince: now.Add(-2 * time.Hour)},
		Effects: Effects{Open: ledger.Total{N: 1}, First: "batches/a", ClaimableSince: now.Add(-3 * time.Hour)},
	}
	const ended = "; the last pass ended 1h00m ago, and one is made every 5m00s; a look-up is due for 2h00m"
	paused := late
	paused.Paused = true
	held := "effects are paused, and the first of 1 has waited for 3h00m, that of batches/a: " + again
	for name, c := range map[string]struct {
		o               Overview
		serve           Serve
		problems, notes []string
	}{
		"none, and nothing is late": {Overview{At: now}, Serve{State: ServeNone}, nil, []string{none + start}},
		"a pass is about to be late": {
			Overview{At: now, LastPass: ledger.Pass{Ended: now.Add(time.Second - 15*time.Minute)}}, Serve{State: ServeNone},
			nil, []string{none + start},
		},
		"silent":          {Overview{At: now}, hangs, []string{silent + " | "}, nil},
		"killed":          {Overview{At: now}, Serve{State: ServeGone}, []string{gone + start}, nil},
		"it runs":         {Overview{At: now}, Serve{State: ServeRuns}, nil, nil},
		"it is not known": {Overview{At: now}, Serve{}, nil, nil},
		"none, and all late": {
			late, Serve{State: ServeNone}, []string{none + ended + "; effects could have been run for 3h00m" + start}, nil,
		},
		"silent, and all late": {
			late, hangs, []string{silent + ended + "; effects could have been run for 3h00m" + " | "}, nil,
		},
		"none, in a pause": {paused, Serve{State: ServeNone}, []string{none + ended + start, held + command}, nil},
		"silent, in a pause": {
			paused, hangs, []string{silent + ended + " | ", held + " | "}, nil,
		},
		"none, in a short pause": {Overview{At: now, Paused: true}, Serve{State: ServeNone}, nil, []string{
			none + start, "effects are paused: they are planned, and none is run; " + again + command,
		}},
	} {
		c.o.Serve = c.serve
		c.o.judge(Options{Interval: 5 * time.Minute, File: true, StoreFlag: " --store sqlite:demo.db"})
		for what, both := range map[string][2][]string{
			"problems": {lines(c.o.Problems), c.problems}, "notes": {lines(c.o.Notes), c.notes},
		} {
			if got, want := fmt.Sprintf("%q", both[0]), fmt.Sprintf("%q", both[1]); got != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", name, what, got, want)
			}
		}
	}
}

// TestJudgeUnwritten: that serve cannot write the ledger is one problem with all that comes of it. What does not come
// of it stays a problem of its own, and so does all of it once the ledger can be written.
func TestJudgeUnwritten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	full := Serve{State: ServeRuns, Unperformable: []Unperformable{
		{Words: "the ledger cannot be written: the disk is full", Playbook: "ledger-errors", Unwritten: true},
		{Words: "no job can be run now", Playbook: "jobs"},
	}}
	o := func(outcome ledger.PassOutcome, err string, serve Serve) Overview {
		return Overview{
			At: now, Serve: serve, Effects: Effects{ClaimableSince: now.Add(-3 * time.Hour), First: "batches/a"},
			Pending: Pending{
				DueSince: now.Add(-2 * time.Hour), Late: ledger.Total{N: 1}, SubmittedAt: now.Add(-30 * time.Hour),
			},
			LastPass: ledger.Pass{Outcome: outcome, Ended: now.Add(-time.Hour), Errors: 1, Error: err},
		}
	}
	const unavailable = "committing: the store is unavailable: database or disk is full (13)"
	const cause = "the ledger cannot be written: the disk is full; the last pass ended 1h00m ago, and one is made every " +
		"5m00s; a look-up is due for 2h00m; effects could have been run for 3h00m"
	const jobs = "no job can be run now | "
	const late = "1 operation pending for too long, the oldest for 1d06h | opledger list --late"
	const workers = "effects could have been run for 3h00m: do their workers and the scheduled passes run? | " +
		"opledger show batches/a"
	const pass = "the last pass ended 1h00m ago, and one is made every 5m00s: do the scheduled passes run? | " +
		"opledger reconcile"
	const errs = "the last pass could not handle 1 document, first: "
	const due = "a look-up is due for 2h00m: do the scheduled passes run? | opledger list --pending"
	for _, c := range []struct {
		o    Overview
		want []string
	}{
		{o(ledger.PassDone, "", full), []string{cause + " | ", jobs, late}},
		{o(ledger.PassErrors, unavailable, full), []string{
			cause + "; the last pass could not handle 1 document | ", jobs, late,
		}},
		{o(ledger.PassErrors, "no state", full), []string{
			cause + " | ", jobs, errs + "no state | opledger reconcile", late,
		}},
		{o(ledger.PassErrors, unavailable, Serve{State: ServeRuns}), []string{
			workers, pass, errs + unavailable + " | opledger reconcile", due, late,
		}},
	} {
		c.o.judge(Options{Interval: 5 * time.Minute, File: true})
		if got, want := fmt.Sprintf("%q", lines(c.o.Problems)), fmt.Sprintf("%q", c.want); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func lines(problems []Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Words+" | "+p.Command)
	}
	return all
}
