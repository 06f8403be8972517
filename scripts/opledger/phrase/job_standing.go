package phrase

import (
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
)

// A Standing is why a job starts nothing now, for a reader who knows nothing else of it.
type Standing struct {
	Tone  Tone   // Bad: it goes on only once an operator has acted
	Title string // what is the matter, as the end of a sentence that names the job
	Cause string
	Means string // what follows
	Do    string // what to do
}

// JobStanding says why a job starts nothing now, and what to do; nil: it is not held, and waits for nothing.
func JobStanding(p progress.Progress, store string) *Standing {
	switch {
	case p.Ended():
		return nil
	case p.Hold != nil:
		s := held(p, store)
		return &s
	case p.Waiting != nil && p.Waiting.Reason != job.WaitsForResume:
		s := waits(p)
		return &s
	default:
		return nil
	}
}

// held is the standing of a job that is held [J11].
func held(p progress.Progress, store string) Standing {
	s := Standing{
		Tone: Bad, Title: Safe(string(p.Hold.Reason)),
		Cause: Sentence(Safe(p.Hold.Why)) + ". It has been held since " + LocalTime(p.Hold.At) + ".",
		Means: "No further batch is started, and so nothing more is paid, until an operator resumes or cancels the job. " +
			goesOn(p) + ".",
		Do: "Resume the job, or cancel it: what is done is kept.",
	}
	switch p.Hold.Reason {
	case job.HeldByOperator:
		s.Tone, s.Title = Warn, "an operator has paused it"
		s.Cause = fmt.Sprintf("%s paused it at %s: %s.", Safe(p.Hold.By), LocalTime(p.Hold.At), Safe(p.Hold.Why))
	case job.HeldByPilot:
		s.Title = "its pilot failed"
		s.Means = fmt.Sprintf("The other %s were not sent, and cost nothing. They wait until an operator resumes or "+
			"cancels the job.", Amount(p.Open, "request"))
		s.Do = "Read the first failures. If the requests are wrong, cancel the job, correct its input, and submit that " +
			"under another id. If the failures are acceptable, resume the job: the rest starts, and is not held for the " +
			"pilot again."
	case job.HeldByReferences:
		s.Title = "files or caches that its requests name are gone"
		s.Means = "Nothing more is sent until an operator resumes or cancels the job. Requests that name what is gone are " +
			"not sent then, cost nothing, and end refused. " + goesOn(p) + "."
		s.Do = "Is the key that of the project which has the files? Upload them again under the same names, and resume the " +
			"job. Or resume it without them. Or cancel it, and name Cloud Storage objects in their place."
	case job.HeldByCost:
		s.Title = "it would cost more than it may"
		s.Do = "Raise the limit: opledger change " + ShellWord(string(p.Key)) + " --max-cost DOLLARS --reason TEXT" + store +
			". The job then goes on by itself. Or cancel it: what is done is kept."
	}
	return s
}

// goesOn says what becomes of the batches that run, and of those that are about to.
func goesOn(p progress.Progress) string {
	words := "None of its batches runs"
	switch n := p.Batches.Running - p.Batches.Starting; {
	case n == 1:
		words = "1 batch that runs goes on, and is collected and paid"
	case n > 1:
		words = Amount(int64(n), "batch") + " that run go on, and are collected and paid"
	}
	if n := p.Batches.Starting; n > 0 {
		words += ". Of " + Amount(int64(n), "batch") + " about to start, those that Gemini has created go on, too; the " +
			"others wait"
	}
	return words
}

// waits is the standing of a job whose batches are not started now. Tokens, batches and storage are three limits, each
// with its own numbers.
func waits(p progress.Progress) Standing {
	w := *p.Waiting
	s := Standing{
		Tone: Warn, Title: "it waits for " + WaitsFor(w.Reason), Cause: "It has waited since " + LocalTime(w.Since) + ".",
		Means: "No request is lost, and waiting uses up no attempt.", Do: "Nothing: it goes on by itself.",
	}
	switch w.Reason {
	case job.WaitsForTokens:
		s.Tone, s.Title = Busy, "it waits for enqueued tokens of "+Safe(w.Model)
		s.Cause = fmt.Sprintf("%s of %s may be in batches that have not ended, by OPLEDGER_ENQUEUED_TOKENS. Batches that "+
			"run have %s of them, of all jobs; the next batch of this one has about %s. It has waited since %s.",
			Tokens(w.Most), Safe(w.Model), Number(w.Used), Number(w.Tokens), LocalTime(w.Since))
		s.Means = "The next batch starts by itself once batches of the model have ended. " + s.Means
		s.Do = "Nothing, if the job may take longer. Else raise OPLEDGER_ENQUEUED_TOKENS to what your project really has, " +
			"or pause another job of the model."
	case job.WaitsForBatch:
		s.Tone = Busy
		s.Cause = fmt.Sprintf("%s of all jobs run, and at most %s may, by OPLEDGER_MAX_BATCHES and Gemini's own limit. It "+
			"has waited since %s.", Amount(w.Used, "batch"), Number(w.Most), LocalTime(w.Since))
		s.Means = "The next batch starts by itself once another has ended. " + s.Means
		s.Do = "Nothing, if the job may take longer. Else pause another job, or raise OPLEDGER_MAX_BATCHES."
	case job.WaitsForQuota:
		s.Title = "Gemini's quota is used up (429)"
		s.Means = "Gemini is asked again every minute. " + s.Means
		s.Do = "Nothing, if other batches of the project run: they will end. If it lasts, say in OPLEDGER_ENQUEUED_TOKENS " +
			"what your project may have, or ask Google for a higher limit."
	case job.WaitsForStorage:
		s.Title = "Gemini's storage of files is full"
		s.Means = "The upload is tried again every minute. " + s.Means
		s.Do = "A project may store 20 GB. What was uploaded is deleted after 48 hours; delete what you need no more."
	case job.WaitsForAccess:
		s.Tone, s.Title = Bad, "Gemini refuses the API key, or the project"
		s.Means = "No batch is created with this key, of any job, and nothing is paid. It is tried again every five " +
			"minutes. " + s.Means
		s.Do = "Correct GEMINI_API_KEY, or OPLEDGER_GEMINI_API_KEY_SECRET, of the process that runs the jobs, and restart " +
			"it; or the project's billing. The job then goes on by itself."
	case job.WaitsForGemini:
		s.Title = "Gemini fails, or cannot be reached"
		s.Means = "It is asked again within five minutes. " + s.Means
	case job.WaitsForIntent:
		s.Title = "it is not certain whether a batch was created"
		s.Means = "The answer to its creation was lost. The batch is created again only once it is certain that there is " +
			"none, so that nothing is paid twice. " + s.Means
	}
	return s
}
