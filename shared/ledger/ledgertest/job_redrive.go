package ledgertest

import (
	"errors"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// failJob ends a job of one request, which has failed.
func (w *world) failJob() {
	w.Helper()
	lease, j := w.step(nightly, job.StepSplit), w.job()
	j.Phase, j.Counts.Failed = job.Ended, 1
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, j.Write()))
	w.advance()
}

var jobRedrives = join([]ledgerTest{
	{"a redrive is a job of its own, and each of the two names the other, in one commit [J14]", func(w *world) {
		redrive := func(r ledger.JobRequest) (ledger.JobSubmitted, error) { return w.ledger().Jobs.Submit(w.ctx, r) }
		asked := RedriveRequest(job.OutcomeFailed)
		w.refusedAs("of no job", second(redrive(asked)), ledger.ErrNoJob)
		w.submitJob(1, job.Options{})
		w.refusedAs("before it has ended", second(redrive(asked)), job.ErrNoRedrive)
		w.failJob()
		before, record := w.job(), w.record()
		unsaid := asked
		unsaid.Redrive.Why = ""
		w.refusedAs("without a reason", second(redrive(unsaid)), ledger.ErrNoReason)
		w.refusedAs("what is done", second(redrive(RedriveRequest(job.OutcomeDone))), operation.ErrSubmission)
		w.refusedAs("what there is not", second(redrive(RedriveRequest(job.OutcomeInvalid))), job.ErrNoRedrive)
		equal(w, "refused, and recorded", len(w.job().RedrivenBy), 0)
		if _, err := w.ledger().Jobs.Read(w.ctx, asked.Key); !errors.Is(err, ledger.ErrNoJob) {
			w.Errorf("refused, and created: %v", err)
		}
		for _, created := range []bool{true, false} {
			submitted, err := redrive(asked)
			w.must("Submit", err)
			equal(w, "created", submitted.Created, created)
			equal(w, "redrives", submitted.Job.Redrives, nightly)
			equal(w, "attempts", submitted.Job.Round, 0)
		}
		after := w.job()
		equal(w, "redriven by", len(after.RedrivenBy), 1)
		equal(w, "the job", after.RedrivenBy[0].Job, asked.Key)
		equal(w, "by whom", after.RedrivenBy[0].By, "ann")
		equal(w, "phase", after.Phase, before.Phase)
		equal(w, "expires", after.ExpireAt, before.ExpireAt)
		equal(w, "its record [M9]", w.record().Version, record.Version)
	}},
	{"a request of a job is in one redrive [J14], until that one is forgotten", func(w *world) {
		w.submitJob(1, job.Options{})
		w.failJob()
		asked := RedriveRequest(job.OutcomeFailed)
		_, err := w.ledger().Jobs.Submit(w.ctx, asked)
		w.must("Submit", err)
		other := asked
		other.Key = "jobs/other"
		w.refusedAs("another", second(w.ledger().Jobs.Submit(w.ctx, other)), job.ErrNoRedrive)
		mine := asked
		mine.Redrive.Of = "jobs/other"
		w.refusedAs("of another job", second(w.ledger().Jobs.Submit(w.ctx, mine)), ledger.ErrJobDiffers)
		plain := asked
		plain.Redrive = ledger.Redriving{}
		submitted, err := w.ledger().Jobs.Submit(w.ctx, plain)
		w.must("Submit the same input", err)
		equal(w, "created [J1]", submitted.Created, false)
		for _, path := range []ledger.Path{
			ledger.EffectPath(asked.Key, job.StepSplit), ledger.OperationPath(asked.Key), ledger.JobPath(asked.Key),
		} {
			w.delete(path)
		}
		submitted, err = w.ledger().Jobs.Submit(w.ctx, asked)
		w.must("Submit again", err)
		equal(w, "created again", submitted.Created, true)
		equal(w, "redriven by", len(w.job().RedrivenBy), 1)
	}},
}, both("two redrives of one job at once [J14]", func(w *world) (a, b move, check func()) {
	w.submitJob(1, job.Options{})
	w.failJob()
	created := 0
	redriving := func(key operation.Key) move {
		asked := RedriveRequest(job.OutcomeFailed)
		asked.Key = key
		return func(l *ledger.Ledger) error {
			_, err := l.Jobs.Submit(w.ctx, asked)
			if errors.Is(err, job.ErrNoRedrive) {
				return nil
			}
			created++
			return err
		}
	}
	return redriving("jobs/nightly-2"), redriving("jobs/other"), func() {
		equal(w, "created", created, 1)
		equal(w, "redriven by", len(w.job().RedrivenBy), 1)
	}
}))
