package console

import (
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
)

// The names of what can be done to a job and to a part.
const (
	pauseJob  = "pause-job"
	resumeJob = "resume-job"
	cancelJob = "cancel-job"
	release   = "release"
	redrive   = "redrive"
)

// jobActions are what can be done to a job, and to a part of one.
var jobActions = []action{
	{
		name: resumeJob, label: "Resume the job", command: "opledger resume NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Resume %s?", s.Record.Key) },
		happens: []string{
			"It starts batches again, as before it was held.",
			"Who resumed it, when and why is recorded.",
		},
		can: func(s subject) bool { return s.ofJob() && s.Job.Held() },
		do:  decided(keyOf, (*actions.Actions).Resume),
	},
	{
		name: pauseJob, label: "Pause the job", command: "opledger pause NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Pause %s?", s.Record.Key) },
		happens: []string{
			"No further batch is started until someone resumes it. What runs goes on, and is collected and paid.",
			"A batch whose creation has begun may still be created in the next two minutes.",
			"Who paused it, when and why is recorded.",
		},
		can: func(s subject) bool { return s.batching() && s.Job.Starts() },
		do:  decided(keyOf, (*actions.Actions).Pause),
	},
	{
		name: cancelJob, label: "Cancel the job", command: "opledger cancel NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Cancel %s?", s.Record.Key) },
		happens: []string{
			"No further batch is started, and Gemini is asked to cancel those that run. What succeeded is kept.",
			"The job ends once its batches have, and its effects run. Success wins: a batch may still succeed.",
			"Who cancelled it, when and why is recorded. A cancelled job is not resumed.",
		},
		can: func(s subject) bool { return s.batching() && s.Job.Cancelled == nil },
		do:  decided(keyOf, (*actions.Actions).Cancel),
	},
	{
		name: redrive, label: "Redrive", command: "opledger redrive NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string {
			return fmt.Sprintf("Redrive the %s of %s that are not done?", phrase.Amount(s.Job.Counts.NotDone(), "request"),
				s.Record.Key)
		},
		happens: []string{
			"The requests that are not done become a job of their own. This one stays as it ended.",
			"It is sent with the same options, but without a deadline: attempts begin at 1, and what Gemini does is paid again.",
			"A request goes into one redrive. Who decided it, when and why is recorded, and each job names the other.",
		},
		can: func(s subject) bool {
			return s.ofJob() && s.Job.Phase == job.Ended && s.Job.Counts.NotDone() > 0 && len(s.Job.RedrivenBy) == 0
		},
		do: decided(keyOf, (*actions.Actions).Redrive, "The page of this job leads to it."),
	},
	{
		name: release, label: "Release", command: "opledger release NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Release %s, and give up its batch?", s.Record.Key) },
		happens: []string{
			actions.AboutRelease + ".",
			"That counts as an attempt: a request that has none left fails.",
			"It is for a batch that Gemini no longer knows, or that never ends. Who released it, when and why is recorded.",
		},
		can: func(s subject) bool {
			return s.ofOperation() && s.isPart() && s.Part.State == job.Started && s.Part.Released == nil
		},
		do: decided(keyOf, (*actions.Actions).Release),
	},
}

// jobSeen is a job as a question is asked about it. How far its batches are makes no difference.
func jobSeen(j job.Job) string {
	switch {
	case j.Cancelled != nil:
		return string(j.Phase) + ", cancelled " + phrase.Abandoned(j.Cancelled)
	case j.Hold != nil:
		return string(j.Phase) + ", " + phrase.HeldBy(j.Hold)
	default:
		return string(j.Phase)
	}
}

// partSeen is a part as a question is asked about it.
func partSeen(p job.Part) string {
	words := string(p.State)
	if p.Batch != "" {
		words += ", batch " + phrase.Safe(string(p.Batch))
	}
	if p.Released != nil {
		words += ", released " + phrase.Abandoned(p.Released)
	}
	return words
}
