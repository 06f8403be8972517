package infra_test

import (
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// cancels has Gemini cancel each batch that it was asked to cancel, lets a pass find it, and pushes the messages
// about the steps that follow.
func cancels(o *oncall) {
	for _, b := range o.sim.Batches() {
		rec, err := o.ledger.Operations.Read(o.Context(), operation.Key(b.Name))
		if err == nil && rec.CancelRequested != nil {
			err = o.sim.SetState(b.Name, geminisim.StateCancelled)
		}
		if err != nil {
			o.Error(err)
		}
	}
	o.clock.Advance(time.Hour)
	o.tick()
	for range 2 { // job-collect, which publishes job-finish
		o.deliverAll()
	}
}

var drillsOfJobs = []drill{
	{
		playbook: "jobs", about: "its batch was cancelled, and the job is not wanted", signal: "jobs",
		trouble: func(o *oncall, s *shell) {
			o.hasJob()
			o.startedAndEnded(geminisim.StateCancelled)
			o.step(job.StepCollect, nil)
			s.given["JOB"], o.follows = string(theJob), true
		},
		sees: []string{"batch-cancelled\tjobs/nightly/00001"}, fix: []string{"$JOB"},
		after: cancels, over: []string{"CANCELLED"},
	},
}
