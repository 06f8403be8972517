package operations_test

import (
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestPause: who paused a job, since when and why, and what lets it go on, is said wherever the job is [J11].
func TestPause(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	decide := func(command, who, why string) commandtest.Said {
		return commandtest.Run(t, variables, command, "nightly", "--reason", why, "--by", who)
	}
	commandtest.Run(t, variables, "pause", "nightly").Want(t, terminal.ExitUsage, "--reason").Complaint(t)
	commandtest.Run(t, variables, "pause", "jobs/none", "--reason", "r").Want(t, terminal.ExitFailed,
		"opledger list --collection jobs").Complaint(t)
	decide("resume", "kim", "r").Want(t, terminal.ExitDone).Says(t, "jobs/nightly is not held: there is nothing to resume")
	decide("pause", "kim", "empty \x1b[31manswers").Want(t, terminal.ExitDone).Says(t, "jobs/nightly paused by kim at ",
		`: empty \x1b[31manswers; nothing more is started until opledger resume jobs/nightly`)
	decide("pause", "lee", "other").Want(t, terminal.ExitDone).Says(t, "already paused by kim at ",
		"yours was not recorded")
	const held = `by kim: empty \x1b[31manswers; opledger resume jobs/nightly --reason TEXT lets it go on`
	commandtest.Run(t, variables, "show", "nightly").Want(t, terminal.ExitDone).Says(t, "  held  ", "paused ", held)
	commandtest.Run(t, variables, "list", "--pending").Want(t, terminal.ExitDone).Says(t, held, "(held: paused)")
	commandtest.Run(t, variables, "list").Want(t, terminal.ExitDone).Says(t, "PENDING (held: paused)")
	commandtest.Run(t, variables, "list", "--json").Want(t, terminal.ExitDone).Says(t, `"reason": "paused"`)
	commandtest.Run(t, variables, "status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator")
	commandtest.Run(t, variables, "wait", "nightly", "--timeout", "1s").Want(t, terminal.ExitFailed, held)
	decide("resume", "lee", "they are fine").Want(t, terminal.ExitDone).Says(t, "jobs/nightly resumed by lee at ",
		": they are fine")
	commandtest.Run(t, variables, "show", "nightly").Want(t, terminal.ExitDone).Says(t, "  resumed  ",
		"by lee: they are fine")
	decide("cancel", "kim", "r").Want(t, terminal.ExitDone)
}

// TestChange: limits change while a job runs, and show says who changed which.
func TestChange(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	change := func(more ...string) commandtest.Said {
		return commandtest.Run(t, variables, append([]string{"change", "jobs/nightly", "--by", "kim"}, more...)...)
	}
	change("--reason", "r").Want(t, terminal.ExitUsage, "give --max-batches, --max-failures, --stop-after, "+
		"--deadline, --max-cost, --priority or --cancel-after").Complaint(t)
	change("--max-batches", "0", "--stop-after", "x", "--reason", "r").Want(t, terminal.ExitUsage,
		"--max-batches: it must be from 1 to 100", "--stop-after: it must be a number").Complaint(t)
	change("--max-batches", "5").Want(t, terminal.ExitUsage, "--reason").Complaint(t)
	change("--max-batches", "5", "--stop-after", "3", "--reason", "quota").Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly: maxBatches 20 → 5, stopAfter none → 3, ", " by kim: quota\n")
	change("--max-batches", "5", "--reason", "quota").Want(t, terminal.ExitDone).Says(t, "nothing was changed")
	change("--priority", "101", "--reason", "r").Want(t, terminal.ExitUsage, "--priority: it must be from -").Complaint(t)
	change("--cancel-after", "2h", "--reason", "r").Want(t, terminal.ExitFailed, "has run for 2h0m0s is cancelled",
		"nothing was changed")
	change("--cancel-after", "2h", "--priority", "7", "--yes", "--reason", "late").Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly: cancelAfterSeconds 0 → 7200, priority 0 → 7, ", " by kim: late\n")
	var answer struct {
		Options struct{ MaxFailures string }
		Changes []struct{ What string }
	}
	s := change("--max-failures", "1%", "--stop-after", "", "--reason", "r", "--json").Want(t, terminal.ExitDone)
	commandtest.OneObject(t, s.Out, &answer)
	if len(answer.Changes) != 3 || answer.Changes[2].What != "maxFailures 0 → 1%, stopAfter 3 → none" ||
		answer.Options.MaxFailures != "1%" {
		t.Errorf("%+v", answer)
	}
	change("--deadline", "yesterday", "--reason", "r").Want(t, terminal.ExitUsage,
		"--deadline: it must be a time such as").Complaint(t)
	change("--deadline", "-1h", "--reason", "r").Want(t, terminal.ExitUsage, "--deadline: it must be in the future").
		Complaint(t)
	change("--deadline", "2126-11-24T07:00:00Z", "--reason", "r").Want(t, terminal.ExitDone).Says(t,
		"deadline none → 2126-11-24T07:00:00Z")
	commandtest.Run(t, variables, "show", "nightly").Want(t, terminal.ExitDone).Says(t, "of at most 5",
		"  deadline  ", "  changed  ", "maxBatches 20 → 5", "maxFailures 0 → 1%", "→ 2126-11-24T07:00:00Z")
}
