package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// jobSchema is the number of all that belongs to a job [L6]: an older revision does not know which effects
// its operations have.
const jobSchema = 2

var (
	// ErrNoJob: the ledger has no such job.
	ErrNoJob = errors.New("the ledger has no such job")
	// ErrJobDiffers: the id belongs to a job with another input or other options [J1].
	ErrJobDiffers = errors.New("the id belongs to another job")
	// ErrNotRunning: the part has no batch that runs.
	ErrNotRunning = errors.New("the part has no batch that runs")
)

// JobPath returns the path of a job's plan.
func JobPath(key operation.Key) Path { return rootPath(JobsCollection, key.ID()) }

// partPath returns the path of the part with this key. A key of another form has the path of no part.
func partPath(key operation.Key) Path {
	of, number, _ := operation.ParsePart(string(key))
	return JobPath(of).Child(PartsCollection, fmt.Sprintf("%05d", number))
}

// A StoredPart is a part as it was read, for writes that hold only while it is unchanged.
type StoredPart struct {
	job.Part
	doc Document
}

// A StoredJob is a job as it was read.
type StoredJob struct {
	job.Job
	At  time.Time // when it was read, by the store's clock
	doc Document
}

// Read returns a job. Errors: ErrNoJob; else the store's.
func (l jobsReader) Read(ctx context.Context, key operation.Key) (StoredJob, error) {
	stored, _, err := l.job(ctx, key)
	if err != nil {
		return stored, fmt.Errorf("reading %s: %w", key, err)
	}
	return stored, nil
}

// job reads a job, and more documents in the same snapshot, behind its own.
func (l *protocol) job(ctx context.Context, key operation.Key, more ...Path) (StoredJob, Snapshot, error) {
	snapshot, err := l.store.Get(ctx, append([]Path{JobPath(key)}, more...)...)
	if err != nil {
		return StoredJob{}, snapshot, err
	}
	doc := snapshot.Documents[0]
	if !doc.Exists() {
		return StoredJob{}, snapshot, ErrNoJob
	}
	j, err := readJob(doc)
	j.At = operation.Instant(snapshot.ReadTime)
	return j, snapshot, err
}

// readJob decodes a job; one that does not exist is the zero Job.
func readJob(doc Document) (StoredJob, error) {
	j, err := decode(doc, func(j job.Job) Path { return JobPath(j.Key) })
	return StoredJob{Job: j, doc: doc}, err
}

// readPart decodes a part; one that does not exist is the zero Part.
func readPart(doc Document) (StoredPart, error) {
	p, err := decode(doc, func(p job.Part) Path { return partPath(p.Key) })
	return StoredPart{Part: p, doc: doc}, err
}

// Part returns a part and its job, as of one instant. Errors: ErrNoJob, where either does not exist; else
// the store's.
func (l jobsReader) Part(ctx context.Context, key operation.Key) (StoredPart, StoredJob, error) {
	of, _, isPart := operation.ParsePart(string(key))
	if !isPart {
		return StoredPart{}, StoredJob{}, fmt.Errorf("reading %s: %w", key, ErrNoJob)
	}
	j, snapshot, err := l.job(ctx, of, partPath(key))
	if err == nil && !snapshot.Documents[1].Exists() {
		err = ErrNoJob
	}
	var p StoredPart
	if err == nil {
		p, err = readPart(snapshot.Documents[1])
	}
	if err != nil {
		return p, j, fmt.Errorf("reading part %s: %w", key, err)
	}
	return p, j, nil
}

// Parts returns a page of a job's parts, in the order of their numbers.
func (l jobsReader) Parts(ctx context.Context, key operation.Key, after Cursor, limit int) (Page[StoredPart], error) {
	return l.parts(ctx, key, FieldCreatedAt, after, limit)
}

// OpenParts returns a page of the parts that are neither consumed, dropped nor released, the oldest first.
func (l jobsReader) OpenParts(
	ctx context.Context, key operation.Key, after Cursor, limit int,
) (Page[StoredPart], error) {
	return l.parts(ctx, key, FieldWaiting, after, limit)
}

func (l *protocol) parts(
	ctx context.Context, key operation.Key, by string, after Cursor, limit int,
) (Page[StoredPart], error) {
	what := fmt.Sprintf("reading the parts of %s by %s", key, by)
	return find(ctx, l.store, what, queryParts(key, by, after, limit), readPart)
}

// Write returns the write of the job as it was changed since it was read. Every job is written through it.
func (j StoredJob) Write() Write {
	j.Schema = max(j.Schema, jobSchema)
	j.Version++
	return Write{Path: j.doc.Path, Token: j.doc.Token, Data: j.Job}
}

// Write returns the write of the part as it was changed since it was read. Every part is written through it.
func (p StoredPart) Write() Write {
	p.Schema = max(p.Schema, jobSchema)
	p.Version++
	return Write{Path: p.doc.Path, Token: p.doc.Token, Data: p.Part}
}
