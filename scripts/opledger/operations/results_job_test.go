package operations_test

import (
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestResultsBeforeTheEnd: before a job has ended its results are incomplete, and the command says so. Without
// its storage nothing is printed for whole.
func TestResultsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	variables := submitJob(t, f, 4)
	if s := commandtest.Run(t, variables, "results", "jobs/nightly").Want(t, terminal.ExitFailed, "has not ended",
		"opledger wait jobs/nightly"); s.Out != "" {
		t.Errorf("%q", s.Out)
	}
	commandtest.Run(t, variables, "results", "nightly", "--kind", "failed").Want(t, terminal.ExitFailed, "has not ended")
	for _, args := range [][]string{{"jobs/nightly", "--kind", "fail"}, {"batches/a", "--kind", "failed"}} {
		commandtest.Run(t, variables, append([]string{"results"}, args...)...).Want(t, terminal.ExitUsage, "--kind: ").
			Complaint(t)
	}
	commandtest.Run(t, variables, "results", "jobs/none").Want(t, terminal.ExitFailed, "there is no jobs/none",
		"opledger list --collection jobs").Complaint(t)
}

// TestJobIsKept: what a job cannot end without is refused, with the job's own command [J6].
func TestJobIsKept(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	cutJob(f)
	for _, args := range [][]string{
		{"forget", "jobs/nightly", "--yes"}, {"abandon", "jobs/nightly", "--reason", "r"},
	} {
		commandtest.Run(t, variables, args...).Want(t, terminal.ExitFailed, "opledger cancel JOB --reason TEXT").Complaint(t)
	}
	commandtest.Run(t, variables, "forget", "batches/a", "--results").Want(t, terminal.ExitUsage, "--results: ").
		Complaint(t)
	commandtest.Run(t, variables, "wait", "jobs/nightly", "--timeout", "1ms").Want(t, terminal.ExitFailed,
		"batches 0 of 2, round 1 of 3 · done 0 · open 4", "--timeout was over")
	commandtest.Run(t, variables, "list", "--pending", "--collection", "jobs").Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly", "opledger show says how far the job is")
	commandtest.Run(t, variables, "cancel", "other", "--reason", "r").Want(t, terminal.ExitUsage, "GEMINI_API_KEY")
	commandtest.Run(t, variables, "forget", "nightly", "--results", "--yes").Want(t, terminal.ExitFailed,
		"opledger cancel JOB").Complaint(t)
	commandtest.Run(t, variables, "cancel", "nightly", "--reason", "wrong", "--by", "kim").Want(t, terminal.ExitDone).
		Says(t, "the cancellation of jobs/nightly requested by kim at ", "no further batch is started")
	commandtest.Run(t, variables, "show", "jobs/nightly").Want(t, terminal.ExitDone).Says(t, "  cancelled ",
		"by kim: wrong")
}

// TestStepIsNotRerun: a step of a job is not run once more, alone or among others.
func TestStepIsNotRerun(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	commandtest.Run(t, variables, "replay", "jobs/nightly", "--rerun", "--effect", "job-split").Want(t, terminal.ExitUsage,
		"--effect: job-split: it is a step of a job").Complaint(t)
	commandtest.Run(t, variables, "replay", "--rerun", "--collection", "jobs", "--dry-run").Want(t, terminal.ExitDone).
		Says(t, "nothing")
}
