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
	var cut Write
	doc, err := l.held(ctx, lease, "cutting the input of "+string(j.Key), j.doc, func(read Snapshot) []Write {
		now, next := operation.Instant(read.ReadTime), j
		next.SteppedAt, next.Round = now, 1
		var parts []Write
		for _, r := range ranges {
			next.Parts, next.Cut = next.Parts+1, r.Offset+r.Length
			p := job.Part{
				Key: operation.PartKey(j.Key, next.Parts), Number: next.Parts, Round: 1, State: job.Planned,
				Sources: []job.Source{r}, Requests: r.Requests, Bytes: r.Length, CreatedAt: now, WaitingSince: now,
			}
			if p.Number == 1 && j.Options.Pilot > 0 {
				next.Pilot, p.WaitingSince = r.Requests, j.CreatedAt
			}
			parts = append(parts, StoredPart{Part: p, doc: Document{Path: partPath(p.Key)}}.Write())
		}
		if done {
			next.Phase = job.Running
		}
		cut = next.Write()
		return append([]Write{cut}, parts...)
	}, func(doc Document) (bool, error) {
		stored, err := readJob(doc)
		return reflect.DeepEqual(any(stored.Job), cut.Data), err
	})
	if err != nil {
		return j, err
	}
	return StoredJob{Job: cut.Data.(job.Job), doc: doc}, nil
}

// Save records a part that the holder of a lease has changed, and extends the lease. It returns the part as
// it is stored then.
//
// Errors: ErrLeaseLost; ErrContention, where the part has changed since it was read; else as Ingest.
func (l Jobs) Save(ctx context.Context, lease Lease, p StoredPart) (StoredPart, error) {
	write := p.Write()
	doc, err := l.held(ctx, lease, "recording part "+string(p.Key), p.doc, func(Snapshot) []Write {
		return []Write{write}
	}, func(doc Document) (bool, error) {
		stored, err := readPart(doc)
		return reflect.DeepEqual(any(stored.Part), write.Data), err
	})
	if err != nil {
		return p, err
	}
	return StoredPart{Part: write.Data.(job.Part), doc: doc}, nil
}

// held commits a change of doc while the lease of an effect holds, and extends the lease. change returns the
// write of doc first. isOurs recognizes that write where its answer was lost. It returns the new version of doc.
func (l *protocol) held(
	ctx context.Context, lease Lease, doing string, doc Document,
	change func(Snapshot) []Write, isOurs func(Document) (bool, error),
) (Document, error) {
	tried := false
	err := l.withLease(ctx, lease, doing+" under", func(effect Effect, read Snapshot) error {
		if stored := read.Documents[1]; stored.Token != doc.Token {
			ours, err := isOurs(stored)
			if err == nil && !(tried && ours) {
				err = fmt.Errorf("%w: %s has another version by now", ErrContention, doc.Path)
			}
			doc.Token = stored.Token
			return err
		}
		tried = true
		effect.claimableFrom(read.ReadTime.Add(l.settings.ClaimTTL))
		tokens, err := l.store.Commit(ctx, append(change(read), l.writeEffect(read.Documents[0], effect))...)
		if err != nil {
			return err
		}
		doc.Token = tokens[0]
		return nil
	}, doc.Path)
	return doc, err
}

// Announce records the intent of a part's batch before its creation, and decides whether the caller may
// create it: see [Intents.Intend]. attempt is the caller's id of this creation. It is the one way to an
// intent that belongs to a job [J3]. In a ledger that was restored from a backup it waits first until a pass
// has read Gemini's list, if the job was submitted before, or within 72 hours: the backup may lack the batch.
func (l Jobs) Announce(ctx context.Context, p job.Part, of job.Job, attempt string) (Intent, error) {
	return l.intend(ctx, Intention{
		Submission: operation.Submission{CorrelationID: string(p.Key), JobKind: of.JobKind},
		Collection: operation.Batches, Attempt: attempt, jobSubmitted: of.CreatedAt,
	})
}

// Withdraw deletes the intent of a part's batch, for a caller that knows that Gemini created none: see
// [Intents.Withdraw].
func (l Jobs) Withdraw(ctx context.Context, p job.Part, attempt string) (bool, error) {
	return l.withdraw(ctx, string(p.Key), attempt)
}

// Bind registers the batch that was created for a part. Registered.CorrelationErr is ErrCorrelation where
// the part has another batch: this one is a twin, and is not registered [J2].
func (l Jobs) Bind(ctx context.Context, p job.Part, of job.Job, name operation.Name) (Registered, error) {
	return l.registerAny(ctx, Registration{
		Name: name, Submission: operation.Submission{CorrelationID: string(p.Key), JobKind: of.JobKind},
	})
}
