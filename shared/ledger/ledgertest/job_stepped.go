package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// lookUpJob is a pass's look-up of the job, up to its claim.
func (w *world) lookUpJob() ledger.LookUpClaim {
	w.Helper()
	w.name = nameOf(w, string(nightly))
	for _, due := range w.dueOperations().Items {
		if due.Record.Key == nightly {
			claimed, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, w.now())
			w.must("ClaimLookUp", err)
			return claimed
		}
	}
	w.Fatal("the job is not due")
	return ledger.LookUpClaim{}
}

// late checks whether the job is in the list of late operations.
func (w *world) late(want bool) {
	w.Helper()
	page, err := w.ledger().Operations.List(w.ctx, ledger.Filter{Late: w.now(), Limit: 10})
	w.must("List", err)
	equal(w, "late", len(page.Items) == 1 && page.Items[0].Key == nightly, want)
}

var jobStepped = []ledgerTest{
	{"a job is late a day after its last step, not after its submission [R4]", func(w *world) {
		w.settings.Rules[0].Alerts = []ledger.Alert{ledger.AlertStuck}
		w.submitJob(1, job.Options{})
		w.store.Advance(ledger.JobStuckAfter - time.Hour)
		w.cut()
		w.store.Advance(2 * time.Hour)
		w.late(true) // no look-up has seen the step yet
		equal(w, "stuck", w.lookUpJob().Stuck, false)
		w.late(false)
		equal(w, "its last step", w.record().SteppedAt, w.job().SteppedAt)
		w.store.Advance(ledger.JobStuckAfter)
		w.late(true)
		claimed := w.lookUpJob()
		if !claimed.Stuck || !claimed.Alert || claimed.Planned != 1 {
			w.Errorf("without a step for a day: %+v", claimed)
		}
	}},
	{"a job that steps again is no longer stuck, and alerts again once it is [R4]", func(w *world) {
		w.settings.AlertEvery = 100 * day
		w.submitJob(1, job.Options{})
		w.store.Advance(ledger.JobStuckAfter + time.Minute)
		equal(w, "the first alert", w.lookUpJob().Alert, true)
		w.store.Advance(w.settings.Interval)
		w.cut()
		claimed := w.lookUpJob()
		equal(w, "stuck", claimed.Stuck, false)
		equal(w, "since", w.record().StuckSince, time.Time{})
		w.store.Advance(ledger.JobStuckAfter + time.Minute)
		equal(w, "the second alert", w.lookUpJob().Alert, true)
	}},
	{"a job whose plan is gone is claimed, and late a day after what was its last step", func(w *world) {
		w.submitJob(1, job.Options{})
		w.store.Advance(w.settings.Interval)
		w.lookUpJob()
		w.delete(ledger.JobPath(nightly))
		w.store.Advance(ledger.JobStuckAfter)
		equal(w, "stuck", w.lookUpJob().Stuck, true)
	}},
}
