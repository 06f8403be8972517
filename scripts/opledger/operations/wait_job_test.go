package operations_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestWaitForDeadPart: a job one of whose parts cannot go on is not waited for.
func TestWaitForDeadPart(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	cutJob(f)
	f.Ago(-2*time.Minute, func(ctx context.Context, l *ledger.Ledger) error { // its start was put off
		grant, err := l.Effects.Claim(ctx, operation.PartKey("jobs/nightly", 2), job.StepStart)
		if err != nil {
			return err
		}
		return l.Effects.MarkDead(ctx, grant.Lease, errors.New("the disk is full"))
	})
	commandtest.Run(t, variables, "wait", "jobs/nightly", "--timeout", "1m").Want(t, terminal.ExitFailed,
		"job-start of jobs/nightly/00002 is dead", "the disk is full", "opledger show jobs/nightly/00002").Complaint(t)
}

// TestWaitForDeadLookUp: nor is one whose references cannot be looked up.
func TestWaitForDeadLookUp(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	cutJobNaming(f, job.References{Count: 1})
	f.Ago(-2*time.Minute, func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, operation.PartKey("jobs/nightly", 1), job.StepReferences)
		if err != nil {
			return err
		}
		return l.Effects.MarkDead(ctx, grant.Lease, errors.New("the disk is full"))
	})
	commandtest.Run(t, variables, "wait", "jobs/nightly", "--timeout", "1m").Want(t, terminal.ExitFailed,
		"job-references of jobs/nightly/00001 is dead", "the disk is full", "opledger show jobs/nightly/00001").Complaint(t)
}
