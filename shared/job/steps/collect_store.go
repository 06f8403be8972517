package steps

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

// Lines are those of one kind that an attempt writes, in one object after the other.
type lines struct {
	*files.Writer
	next func() *files.Writer
	most int64  // bytes, after which the object is full
	seen []byte // the keys that were read since the last object
}

// lines returns what writes lines of a kind.
func (c *collecting) lines(ctx context.Context, kind string) *lines {
	next := func() *files.Writer { return files.NewWriter(ctx, c.Storage, c.name(kind)) }
	return &lines{Writer: next(), next: next, most: c.bounds.chunkBytes}
}

// name returns the name of the next object of a kind.
func (c *collecting) name(kind string) string {
	c.written[kind]++
	return files.Of(c.job, c.part.Number, c.task.Fence, kind, c.written[kind])
}

// see notes a key that was read, with what became of it.
func (l *lines) see(key operation.KeyHash, j job.Judgement) {
	l.seen = append(append(l.seen, key[:]...), byte(slices.Index(outcomes, j.Outcome)))
	l.seen = append(binary.BigEndian.AppendUint16(l.seen, uint16(len(j.Why))), j.Why...) //nolint:gosec // at most 300
}

func (l *lines) full() bool { return l.Bytes >= l.most || len(l.seen) >= mostSeen }

// mostSeen bounds the keys that are held until they are stored, in bytes.
const mostSeen = 8 << 20

// closeTo is CloseTo. What is written then goes to the next object.
func (l *lines) closeTo(objects *[]job.Object) error {
	err := l.CloseTo(objects)
	l.Writer = l.next()
	return err
}

// store records what was collected so far, so that the next attempt goes on behind it.
func (c *collecting) store(ctx context.Context, out *lines) error {
	if len(out.seen) == 0 {
		return nil
	}
	if err := out.closeTo(&c.part.Final); err != nil {
		return err
	}
	seen, err := c.Storage.Create(ctx, c.name("seen"), bytes.NewReader(out.seen))
	if err != nil {
		return fmt.Errorf("storing the keys that were read: %w", err)
	}
	out.seen = out.seen[:0]
	c.part.Seen = append(slices.Clip(c.part.Seen), job.Object(seen))
	c.part, err = c.Ledger.Jobs.Save(ctx, c.task.Lease, c.part)
	c.stored = c.stored || err == nil
	return err
}
