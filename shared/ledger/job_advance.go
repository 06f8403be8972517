package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// Advanced is the result of Advance.
type Advanced struct {
	Job   job.Job
	Steps int // how many commits were made
	// Wants is what the job lacks to start its next batch; zero: nothing that other jobs may leave it.
	Wants job.Want
	// Settled: this call ended the job.
	Settled bool
	// Waiting is another job, whose batches found no room before and may find it now; empty: there is none.
	Waiting operation.Key
	// PublishErr: as in Receipt.
	PublishErr error
}

// LogAttrs returns, of a call that ended the job, what became of its requests and what they cost, as fields of a log
// line.
func (a Advanced) LogAttrs() []any {
	c, u := a.Job.Counts, a.Job.Usage
	return []any{
		"event", "job", "outcome", "ended", "operation", a.Job.Key, "model", job.ModelName(a.Job.Options.Model),
		"done", c.Done, "invalid", c.Invalid, "truncated", c.Truncated, "refused", c.Refused, "failed", c.Failed,
		"input", u.Input, "output", u.Output, "thinking", u.Thinking, "cached", u.Cached,
	}
}

const (
	// openPart is how many open parts Advance reads: all that run, and enough of those that wait.
	openPart = 300
	// mostSteps bounds the commits of one Advance. What is left waits for the next.
	mostSteps = 200
)

// Advance takes the next steps of a job, as far as the steps of its parts allow: it is the look-up of a job,
// and is called behind each step that ended. Every commit consumes what was collected, and creates what
// follows from it [J2]; it holds only while no other call has advanced the job. Where nothing follows it
// writes nothing. That it has found the deadline past is logged [J12]. Once the results are merged it settles the
// job's record, through Ingest as for any operation [J8], unless that has expired. Of a job that does not exist it
// removes what still counts of it among the batches that run.
//
// Errors: ErrNoJob; else as Ingest. Calling it again is safe, also while another call runs.
func (l Jobs) Advance(ctx context.Context, key operation.Key) (Advanced, error) {
	unlock, err := l.advances.lock(ctx, key)
	if err != nil {
		return Advanced{}, fmt.Errorf("waiting to advance %s: %w", key, err)
	}
	defer unlock()
	var result Advanced
	for range mostSteps {
		var step job.Step
		var messages []Message
		var late job.Job // whose deadline this call has found past, or another at the same moment
		err := l.retry(ctx, "advancing "+string(key), func(int) (err error) {
			step, result.Waiting, messages, err = l.advance(ctx, key)
			if step.DeadlineReached {
				late = step.Job
			}
			return err
		})
		result.Job, result.Wants = step.Job, step.Wants
		reached := late.DeadlineReached // logged also where the answer to its commit was lost: twice is better than never
		if !reached.IsZero() && (err != nil || reached.Equal(step.Job.DeadlineReached)) {
			l.log.ErrorContext(ctx, deadlineMessage, "event", "alert", "reason", "job-deadline", "operation", key, "since",
				late.Options.Deadline)
		}
		if err != nil {
			return result, err
		}
		if messages == nil {
			break
		}
		result.Steps++
		result.PublishErr = cmp.Or(result.PublishErr, l.send(ctx, messages))
	}
	if result.Job.Phase != job.Ended {
		return result, nil
	}
	messages, recorded, err := l.close(ctx, key)
	if err != nil || !recorded {
		return result, err
	}
	result.PublishErr = cmp.Or(result.PublishErr, l.send(ctx, messages))
	receipt, err := Operations{operationsReader{l.protocol}}.Ingest(ctx, ended(result.Job))
	result.Settled, result.PublishErr = receipt.Settled, cmp.Or(result.PublishErr, receipt.PublishErr)
	return result, err
}

// advance takes one step. The messages are nil where there is none to take. next is the other job whose turn it is,
// where there is room for it.
func (l *protocol) advance(
	ctx context.Context, key operation.Key,
) (step job.Step, next operation.Key, _ []Message, err error) {
	j, snapshot, err := l.job(ctx, key, runningPath, OperationPath(key))
	step.Job = j.Job
	if err != nil && !errors.Is(err, ErrNoJob) {
		return step, next, nil, err
	}
	running, decodeErr := decode(snapshot.Documents[1], func(RunningBatches) Path { return runningPath })
	if decodeErr != nil {
		return step, next, nil, decodeErr
	}
	if err != nil { // it was deleted: nothing of it runs, or is held
		writes := running.without(key, nil, false).changed(running, snapshot.Documents[1])
		return step, next, nil, cmp.Or(l.commit(ctx, writes...), err)
	}
	if j.Phase == job.Splitting || j.Phase == job.Ended {
		kept := running.without("", nil, true)
		kept.hold(j.Job)
		kept.noteUnmatched(j.Job, operation.Instant(snapshot.ReadTime))
		return step, next, nil, l.commit(ctx, kept.changed(running, snapshot.Documents[1])...)
	}
	page, err := l.parts(ctx, key, FieldWaiting, Cursor{}, openPart)
	if err == nil && len(page.Broken) > 0 {
		err = page.Broken[0]
	}
	if err != nil {
		return step, "", nil, err
	}
	open := make([]job.Part, len(page.Items))
	docs := map[operation.Key]Document{}
	for i, p := range page.Items {
		open[i], docs[p.Key] = p.Part, p.doc
	}
	now := operation.Instant(snapshot.ReadTime)
	kept := running.without(key, open, page.Next != Cursor{})
	step = job.Next(now, j.Job, open, page.Next != Cursor{}, kept.room(j.Job, l.settings, now))
	kept.place(j.Job, step.Running, running, now)
	kept.turn(j.Job, step, l.settings, now)
	kept.hold(step.Job)
	model := job.ModelName(j.Options.Model)
	if m, known := kept.Models[model]; known && slices.ContainsFunc(open, hasBatch) {
		kept.Models[model] = m.seen(true, now)
	}
	next = kept.next(key, l.settings, now)
	writes := kept.changed(running, snapshot.Documents[1])
	if !step.Changed() {
		return step, next, nil, l.commit(ctx, writes...)
	}
	j.Job = step.Job
	writes = append(writes, j.Write())
	for _, p := range step.Parts {
		doc, known := docs[p.Key]
		if !known {
			doc = Document{Path: partPath(p.Key)}
		}
		writes = append(writes, StoredPart{Part: p, doc: doc}.Write())
	}
	planned, messages, err := l.planSteps(ctx, step, snapshot.Documents[2], now)
	if err != nil {
		return step, next, nil, err
	}
	return step, next, messages, l.commit(ctx, append(writes, planned...)...)
}

func hasBatch(p job.Part) bool { return p.State == job.Started }

// planSteps plans the effects of a step.
func (l *protocol) planSteps(
	ctx context.Context, step job.Step, record Document, now time.Time,
) ([]Write, []Message, error) {
	parts := plan{messages: []Message{}}
	for _, of := range []struct {
		name string
		keys []operation.Key
	}{{job.StepReferences, step.LookUp}, {job.StepStart, step.Start}, {job.StepCancel, step.Cancel}} {
		for _, key := range of.keys {
			parts.record = operation.Record{Key: key} // it has no document
			if err := parts.add(l, of.name, nil, now); err != nil {
				return nil, nil, err
			}
		}
	}
	if !step.Finish && !step.DeadlineReached {
		return parts.writes, parts.messages, nil
	}
	rec, err := l.readRecord(record)
	if err == nil && !record.Exists() {
		err = ErrNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	p := plan{record: rec}
	if step.DeadlineReached {
		if p, err = l.planAlert(ctx, rec, AlertDeadline, deadlineNotice(step.Job), reportOn(step.Job), now); err != nil {
			return nil, nil, err
		}
	}
	if step.Finish {
		if err := p.add(l, job.StepFinish, nil, now); err != nil {
			return nil, nil, err
		}
	}
	_, write := l.writeRecord(record, p.record, now)
	return append(append(parts.writes, p.writes...), write), append(parts.messages, p.messages...), nil
}

// deadlineMessage is what is logged of a job whose deadline was reached.
const deadlineMessage = "the deadline of a job was reached: no further batch is started, and what runs is cancelled"

// deadlineNotice says what is there of a job whose deadline was reached.
func deadlineNotice(j job.Job) Notice {
	return Notice{Since: j.Options.Deadline, Detail: fmt.Sprintf("%d of %d requests are done, %d ended otherwise; "+
		"no further batch is started, and what runs is cancelled", j.Counts.Done, j.Input.Requests, j.Counts.NotDone())}
}

// close gives a job that has ended, and its parts, the time at which they may be deleted, and plans that its
// working objects are. That effect is of the first part, so that a caller who waits for the job does not wait for it.
// recorded: the job's record is there. It expires before the job does, and must not be made again [L3].
func (l *protocol) close(ctx context.Context, key operation.Key) (messages []Message, recorded bool, err error) {
	err = l.retry(ctx, "closing "+string(key), func(int) error {
		j, read, err := l.job(ctx, key, OperationPath(key))
		recorded = err == nil && read.Documents[1].Exists()
		if err != nil || !j.ExpireAt.IsZero() {
			return err
		}
		now := operation.Instant(read.ReadTime)
		j.ExpireAt = operation.Instant(now.Add(2 * l.settings.Retention))
		if err := l.expireParts(ctx, key, j.ExpireAt); err != nil {
			return err
		}
		tidy := plan{record: operation.Record{Key: operation.PartKey(key, 1)}} // it has no document
		if j.Output.Results.Name != "" {
			if err := tidy.add(l, job.StepTidy, nil, now); err != nil {
				return err
			}
		}
		messages = tidy.messages
		return l.commit(ctx, append(tidy.writes, j.Write())...) // last: it says that all parts have it
	})
	return messages, recorded, err
}

// expireParts gives the parts of a job the time at which they may be deleted.
func (l *protocol) expireParts(ctx context.Context, key operation.Key, expire time.Time) error {
	for after := (Cursor{}); ; {
		page, err := l.parts(ctx, key, FieldCreatedAt, after, forgetPage)
		if err != nil {
			return err
		}
		var writes []Write
		for _, p := range page.Items {
			if p.ExpireAt.IsZero() {
				p.ExpireAt = expire
				writes = append(writes, p.Write())
			}
		}
		if err := l.commit(ctx, writes...); err != nil {
			return err
		}
		if after = page.Next; after == (Cursor{}) {
			return nil
		}
	}
}

// ended is the event that settles the record of a job whose results are merged. A job does not end before it is
// created, whatever the store's clock was since: else its effects would be withheld [L3, J8].
func ended(j job.Job) operation.Event {
	state, why := j.Verdict()
	e := operation.Event{
		Name: operation.Name{Key: j.Key, Resource: string(j.Key)}, DeliveryID: "job-end", Source: operation.Reconcile,
		State: state, UpdateTime: operation.Later(j.SteppedAt, j.CreatedAt),
		Result: operation.Result{
			ErrorMessage: why,
			Counts:       &operation.Counts{Total: j.Input.Requests, Succeeded: j.Counts.Done, Failed: j.Counts.NotDone()},
		},
	}
	if name := j.Output.Results.Name; name != "" {
		e.Result.OutputFile = j.Storage + "/" + name
	}
	if state != operation.Succeeded {
		e.Result.ErrorCode = string(state)
	}
	return e
}
