package ledger

import (
	"context"
	"fmt"
	"reflect"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// Cut records the parts that a worker found next in the input of the job whose job-split it holds, and
// extends the lease. ranges begin where the parts so far end; done: they are the last. It returns the job
// as it is then.
//
// Errors: ErrLeaseLost; ErrContention, where the job has other parts by now; else as Ingest.
func (l Jobs) Cut(
	ctx context.Context, lease Lease, j StoredJob, ranges []job.Source, done bool,
) (StoredJob, error) {
	what := "cutting the input of " + string(j.Key)
	return held(ctx, l.protocol, lease, what, j.doc, func(read Snapshot) (StoredJob, []Write) {
		now, next := operation.Instant(read.ReadTime), j
		next.SteppedAt, next.Round = now, 1
		var writes []Write
		for _, r := range ranges {
			next.Parts, next.Cut = next.Parts+1, r.Offset+r.Length
			p := job.Part{
				Key: operation.PartKey(j.Key, next.Parts), Number: next.Parts, Round: 1, State: job.Planned,
				Sources: []job.Source{r}, Requests: r.Requests, Bytes: r.Length, CreatedAt: now, WaitingSince: now,
			}
			writes = append(writes, writePart(StoredPart{Part: p, doc: Document{Path: partPath(p.Key)}}))
		}
		if done {
			next.Phase = job.Running
		}
		write := writeJob(next)
		next.Job = write.Data.(job.Job)
		return next, append(writes, write)
	}, func(doc Document) (StoredJob, error) {
		stored, err := decode(doc, func(j job.Job) Path { return JobPath(j.Key) })
		return StoredJob{Job: stored, doc: doc}, err
	}, func(s StoredJob) any { return s.Job })
}

// Save records a part that the holder of a lease has changed, and extends the lease. It returns the part as
// it is stored then.
//
// Errors: ErrLeaseLost; ErrContention, where the part has changed since it was read; else as Ingest.
func (l Jobs) Save(ctx context.Context, lease Lease, p StoredPart) (StoredPart, error) {
	return held(ctx, l.protocol, lease, "recording part "+string(p.Key), p.doc, func(Snapshot) (StoredPart, []Write) {
		write, next := writePart(p), p
		next.Part = write.Data.(job.Part)
		return next, []Write{write}
	}, readPart, func(s StoredPart) any { return s.Part })
}

// held commits a change of one document while the lease of an effect holds, and extends the lease.
func held[T any](
	ctx context.Context, l *protocol, lease Lease, what string, doc Document,
	change func(Snapshot) (T, []Write), read func(Document) (T, error), data func(T) any,
) (T, error) {
	var result T
	tried := false
	err := l.withLease(ctx, lease, what+" under", func(effect Effect, snapshot Snapshot) error {
		if !effect.heldBy(lease) {
			return ErrLeaseLost
		}
		is, now := snapshot.Documents[1], snapshot.ReadTime
		if is.Token != doc.Token {
			stored, err := read(is)
			if err != nil {
				return err
			}
			if tried && reflect.DeepEqual(data(stored), data(result)) {
				result = stored // by this call before, whose answer was lost
				return nil
			}
			return fmt.Errorf("%w: %s has another version by now", ErrContention, doc.Path)
		}
		next, writes := change(snapshot)
		result, tried = next, true
		effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
		effect.DueAt = effect.ClaimableAt
		if err := l.commit(ctx, append(writes, l.writeEffect(snapshot.Documents[0], effect))...); err != nil {
			return err
		}
		after, err := l.store.Get(ctx, doc.Path)
		if err == nil {
			result, err = read(after.Documents[0])
		}
		return err
	}, doc.Path)
	return result, err
}

// Write returns the write of the part as it was changed since it was read, for a handler to return.
func (p StoredPart) Write() Write {
	return writePart(p)
}

// Write returns the write of the job as it was changed since it was read, for a handler to return.
func (j StoredJob) Write() Write {
	return writeJob(j)
}

// Announce records the intent of a part's batch before its creation, and decides whether the caller may
// create it: see [Intents.Intend]. attempt is the caller's id of this creation. It is the one way to an
// intent that belongs to a job [J3].
func (l Jobs) Announce(ctx context.Context, p job.Part, of job.Job, attempt string) (Intent, error) {
	return l.intend(ctx, Intention{
		Submission: operation.Submission{CorrelationID: string(p.Key), JobKind: of.JobKind},
		Collection: operation.Batches, Attempt: attempt,
	})
}

// Withdraw deletes the intent of a part's batch, for a caller that knows that Gemini created none: see
// [Intents.Withdraw].
func (l Jobs) Withdraw(ctx context.Context, p job.Part, attempt string) (bool, error) {
	return l.withdraw(ctx, string(p.Key), attempt)
}

// Bind registers the batch that was created for a part. Registered.CorrelationErr is ErrCorrelation where
// the part has another batch: this one is a twin [J2].
func (l Jobs) Bind(ctx context.Context, p job.Part, of job.Job, name operation.Name) (Registered, error) {
	return l.registerAny(ctx, Registration{
		Name: name, Submission: operation.Submission{CorrelationID: string(p.Key), JobKind: of.JobKind},
	})
}
