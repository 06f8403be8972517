package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// isJobs reports whether a record is that of a job, or of a batch of one.
func isJobs(r operation.Record) bool { return r.Key.Collection() == operation.Jobs || r.IsPart() }

// scanJobs reads how far the jobs are.
func (a *audit) scanJobs(ctx context.Context) error {
	for _, wanted := range a.wantedJobs {
		if a.jobs[wanted.key].Ended() {
			continue
		}
		p, err := progress.Read(ctx, a.ledger.Reading(), wanted.key)
		switch {
		case ctx.Err() != nil, errors.Is(err, ledger.ErrNoJob):
			continue
		case err != nil:
			return fmt.Errorf("watching a job: %w", err)
		}
		if a.jobs == nil {
			a.jobs = map[operation.Key]progress.Progress{}
		}
		a.jobs[wanted.key] = p
	}
	return nil
}

// A JobProgress is how far the jobs of a run are together.
type JobProgress struct {
	Wanted, Ended, Requests, Final int
}

// jobProgress returns how far the jobs were at the last scan. A job has ended once its effect is done, too.
func (a *audit) jobProgress() JobProgress {
	p := JobProgress{Wanted: len(a.wantedJobs)}
	for _, wanted := range a.wantedJobs {
		p.Requests += wanted.requests
		p.Final += int(a.jobs[wanted.key].Counts.Final())
		if a.jobs[wanted.key].Ended() && a.records[wanted.key].Closed() {
			p.Ended++
		}
	}
	return p
}

// JobSummary is the outcome of the jobs of a run.
type JobSummary struct {
	Jobs        int `json:"jobs"`
	JobsEnded   int `json:"jobsEnded"`
	JobRequests int `json:"jobRequests"`
	// JobSentAgain: how often a request was sent beyond its first time.
	JobSentAgain int `json:"jobSentAgain"`
	// JobTwice: lines of results whose key has one already. JobLost: requests of jobs that have ended without a
	// line. JobWrong: lines with the answer to another request or of no request, requests that were sent more
	// often than the job allows, and jobs that do not count as many of each outcome as they have.
	JobTwice int `json:"jobTwice"`
	JobLost  int `json:"jobLost"`
	JobWrong int `json:"jobWrong"`
}

// auditJobs reads the results of the jobs that have ended, and compares them with what was asked and sent.
func (a *audit) auditJobs(ctx context.Context) (s JobSummary, err error) {
	s.Jobs, s.JobsEnded = len(a.wantedJobs), a.jobProgress().Ended
	for _, wanted := range a.wantedJobs {
		s.JobRequests += wanted.requests
		j := a.jobs[wanted.key]
		for n := range wanted.requests {
			sent := a.sim.Sent(wanted.request(n))
			s.JobSentAgain += max(sent-1, 0)
			if j.Key != "" && sent > j.Options.MaxAttempts+j.Batches.Twins {
				s.JobWrong++
			}
		}
		if !j.Ended() {
			continue
		}
		results := resultsAudit{summary: &s, lines: make(map[string]int, wanted.requests)}
		for n := range wanted.requests {
			results.lines[wanted.request(n)] = 0
		}
		if err := a.readResults(ctx, wanted.key, &results); err != nil {
			return s, err
		}
		if results.counts.Unmatched = j.Counts.Unmatched; results.counts != j.Counts {
			s.JobWrong++
		}
	}
	return s, nil
}

// readResults audits the lines of a job's results.
func (a *audit) readResults(ctx context.Context, key operation.Key, to *resultsAudit) error {
	content, copied := io.Pipe()
	defer content.Close() //nolint:errcheck // it never fails, and ends the copying
	go func() {
		complete, err := files.Copy(ctx, a.ledger, a.storage, key, files.Results, copied)
		if err == nil && !complete {
			err = errors.New("they are not complete")
		}
		_ = copied.CloseWithError(err) // nil ends the content
	}()
	for line, err := range files.Scan(content) {
		if err == nil {
			err = to.line(line)
		}
		if err != nil {
			return fmt.Errorf("reading the results of %s: %w", key, err)
		}
	}
	to.end()
	return nil
}

// A resultsAudit counts the lines of results.
type resultsAudit struct {
	summary *JobSummary
	lines   map[string]int // how often each key of the input came
	counts  job.Counts
}

// line counts one.
func (r *resultsAudit) line(text []byte) error {
	var line files.Line
	if err := json.Unmarshal(text, &line); err != nil {
		return fmt.Errorf("reading a line: %w", err)
	}
	r.counts = r.counts.Add(line.Outcome.Counts())
	before, asked := r.lines[line.Key]
	switch {
	case !asked, line.Outcome == job.OutcomeDone && !bytes.Contains(line.Response, answerTo(line.Key)):
		r.summary.JobWrong++
	case before > 0:
		r.summary.JobTwice++
	}
	if asked {
		r.lines[line.Key]++
	}
	return nil
}

// end counts the requests without a line, once all are written.
func (r *resultsAudit) end() {
	for _, lines := range r.lines {
		if lines == 0 {
			r.summary.JobLost++
		}
	}
}

// answerTo is what the simulated Gemini answers to the request with a key.
func answerTo(key string) []byte { return []byte("Result of " + key + ", sent ") }

// waitsForJobs reports whether a job waits for a time that will come.
func (a *audit) waitsForJobs() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(a.jobs)), func(j progress.Progress) bool {
		return !j.Ended() && j.Waiting != nil
	})
}
