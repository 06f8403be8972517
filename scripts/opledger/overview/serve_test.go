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

func lines(problems []Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Words+" | "+p.Command)
	}
	return all
}
