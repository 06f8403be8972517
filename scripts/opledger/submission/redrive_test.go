package submission_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/test/commandtest"
)

// TestRedrive: the requests of a job that are not done run as another one, with its options but those that are given.
// The same again starts nothing, show names each in the other, and merged results have each key once [J14].
func TestRedrive(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	served := commandtest.Serving(t, nil, "--simulate", "--faults", "none", "--fault", "jobs/nightly:truncated=0.5",
		"--speed", "1000", "--store", f.Store())
	defer served.Stop()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	run := func(args ...string) commandtest.Said { return commandtest.Run(t, variables, args...) }
	run(jobArgs(inputFile(t, "reviews.jsonl", lines(40)), "--max-attempts", "1", "--max-failures", "40", "--retry-on",
		"truncated", "--job-kind", "reviews", "--metadata", `{"night":"1"}`)...).Want(t, terminal.ExitDone)
	redrive := func(name string, more ...string) commandtest.Said {
		return run(append([]string{"redrive", name, "--reason", "a larger limit", "--by", "ann"}, more...)...)
	}
	run("wait", "jobs/nightly", "--timeout", "1m").Want(t, terminal.ExitDone)
	redrive("jobs/nightly", "--outcome", "truncate").Want(t, terminal.ExitUsage, "--outcome: it must be failed, ").
		Complaint(t)
	redrive("jobs/nightly", "--max-attempts", "11").Want(t, terminal.ExitUsage, "--max-attempts: ").Complaint(t)
	redrive("jobs/nightly", "--model", "another", "--retry-on", "done").Want(t, terminal.ExitUsage, "--retry-on").
		Complaint(t)
	redrive("jobs/none").Want(t, terminal.ExitFailed, "no such job").Complaint(t)
	redrive("batches/abc").Want(t, terminal.ExitUsage, "is no job").Complaint(t)
	redrive("nightly", "--outcome", "invalid").Want(t, terminal.ExitFailed, "it has no request that is invalid").
		Complaint(t)
	redrive("nightly", "--outcome", "truncated", "--cancel-after", "2h").Want(t, terminal.ExitFailed,
		"has run for 2h0m0s is cancelled", "nothing was submitted")
	redrive("nightly", "--max-attempts", "2", "--validate", "", "--outcome", "truncated", "--traceparent",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").Want(t, terminal.ExitDone).
		Says(t, "jobs/nightly-2: ", " of jobs/nightly; accepted\n")
	var got struct {
		Job     progress.Progress
		Created bool
	}
	commandtest.OneObject(t, redrive("nightly", "--max-attempts", "2", "--outcome", "truncated", "--json").
		Want(t, terminal.ExitDone).Out, &got)
	if o := got.Job.Options; got.Created || got.Job.Redrives != "jobs/nightly" || o.MaxAttempts != 2 ||
		o.MaxFailures != "40" || len(o.RetryOn) != 1 || got.Job.JobKind != "reviews" {
		t.Errorf("%+v", got)
	}
	redrive("nightly", "--outcome", "truncated").Want(t, terminal.ExitFailed, "maxAttempts").Complaint(t)
	redrive("nightly", "--outcome", "truncated", "--id", "b").Want(t, terminal.ExitFailed, "are in jobs/nightly-2").
		Complaint(t)
	run("wait", "jobs/nightly-2", "--timeout", "1m").Want(t, terminal.ExitDone)
	run("show", "jobs/nightly").Want(t, terminal.ExitDone).Says(t, "  redriven ", "jobs/nightly-2: truncated; ",
		" by ann: a larger limit")
	run("show", "nightly-2").Want(t, terminal.ExitDone).Says(t, "  redrives ", "jobs/nightly\n")
	run("show", "nightly-2").Want(t, terminal.ExitDone).Says(t, "0af7651916cd43dd8448eb211c80319c")
	run("show", "nightly-2").Want(t, terminal.ExitDone).Says(t, `{"night":"1"}`)
	for _, name := range []string{"nightly", "nightly-2"} {
		out := run("results", name, "--merged").Want(t, terminal.ExitDone).Out
		if all, done := strings.Count(out, "\n"), strings.Count(out, `"outcome":"`+string(job.OutcomeDone)+`"`); all != 40 ||
			done != 40 {
			t.Errorf("%s: %d lines, %d done", name, all, done)
		}
	}
	run("results", "nightly", "--merged", "--kind", "failed").Want(t, terminal.ExitUsage, "--merged: ").Complaint(t)
	run("results", "batches/a", "--merged").Want(t, terminal.ExitUsage, "--merged: ").Complaint(t)
}
