package operations_test

import (
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/test/commandtest"
)

// TestRelease: the batch of a part is given up once the operator has agreed, by a recorded decision, and its
// requests go into a new part [J6].
func TestRelease(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	cutJob(f)
	release := func(in, part string, more ...string) commandtest.Said {
		return commandtest.Answer(t, variables, in, append([]string{"release", part, "--reason", "gone", "--by", "kim"},
			more...)...)
	}
	release("", "jobs/nightly").Want(t, terminal.ExitUsage, "name the part, such as").Complaint(t)
	release("", "jobs/nightly/00009").Want(t, terminal.ExitFailed, "opledger list --collection jobs").Complaint(t)
	release("", "jobs/nightly/00001").Want(t, terminal.ExitFailed, "the part has no batch that runs", "STARTING",
		"opledger show jobs/nightly/00001").Complaint(t)
	startPart(t, f, 1)
	release("n\n", "jobs/nightly/00001").Want(t, terminal.ExitFailed, "its result is never collected", "is paid twice",
		"nothing was released")
	release("y\n", "jobs/nightly/00001").Want(t, terminal.ExitDone).Says(t, "jobs/nightly/00001 released by kim at ",
		": gone\n")
	release("", "jobs/nightly/00001", "--by", "lee").Want(t, terminal.ExitDone).Says(t, "already released by kim",
		"yours was not recorded")
	commandtest.Run(t, variables, "show", "jobs/nightly/00001").Want(t, terminal.ExitDone).Says(t, "RELEASED",
		"by kim: gone")
}

// TestReleaseAsks: it asks also about a batch of which nothing is known but that it may have been created; with
// --yes it does not.
func TestReleaseAsks(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	cutJob(f)
	changePart(t, f, 1, func(p *job.Part) { p.Creations, p.Waits = 1, job.WaitsForIntent })
	args := []string{"release", "jobs/nightly/00001", "--reason", "gone", "--by", "kim"}
	commandtest.Answer(t, variables, "n\n", args...).Want(t, terminal.ExitFailed, "STARTING, a batch that may have been "+
		"created", "nothing was released")
	commandtest.Run(t, variables, "show", "jobs/nightly/00001").Want(t, terminal.ExitDone).Says(t, "STARTING")
	commandtest.Answer(t, variables, "", append(args, "--yes")...).Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly/00001 released by kim at ")
}
