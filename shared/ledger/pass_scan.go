package ledger

import (
	"cmp"
	"maps"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

const (
	// scanLag is how long before its start, and before the oldest document that it found due, a pass lets the
	// next ones begin to read. It is longer than a pass and a commit together: what becomes due is due no
	// earlier than its commit read the time, or than its pass began. A pass of more than half that has twice
	// its own time.
	scanLag = 15 * time.Minute
	// fullScanEvery is how often a pass reads from the beginning, whatever was found before.
	fullScanEvery = time.Hour
	// fullScanRetry is after how many intervals one that failed is tried again.
	fullScanRetry = 3
)

// Scans are where passes begin to read, by collection. They count while Version is that of their document: an
// older revision, which may write what is due before, leaves them as they are [L5].
type Scans struct {
	Version int64           `json:"version" firestore:"version"`
	Of      map[string]Scan `json:"of" firestore:"of"`
}

// A Scan says from when on passes read the due documents of one collection. A store that keeps the index
// entries of what has ended, as Firestore does for a while, passes them all otherwise [L4].
//
// No open document is due before From. Exceptions are what an older revision writes, what a restored backup
// or a clock that was set back leaves there, and the write of a process that stood still for longer than
// scanLag. A full scan finds those, within an hour. One that cannot be read, or that a newer revision wrote,
// holds From where it is due.
type Scan struct {
	From time.Time `json:"from" firestore:"from"`
	At   time.Time `json:"at" firestore:"at"`     // when the pass began that found From
	Full time.Time `json:"full" firestore:"full"` // when the last pass began that read from the beginning
}

// scanning is what one pass has read of a collection.
type scanning struct {
	from   Cursor    // the zero one: from the beginning
	at     time.Time // the At that from is of
	read   bool
	oldest time.Time // of what it found; zero: nothing
}

// ScanFrom returns where this pass begins to read a collection in the order of dueAt. It is the beginning
// once an hour, after a leap of the store's clock or a restore, and where no pass has stored a Scan.
func (k *Lookups) ScanFrom(collection string) Cursor {
	if begun, ok := k.scans[collection]; ok {
		return begun.from
	}
	s := cmp.Or(k.marks.Scans, &Scans{}).Of[collection]
	begun := scanning{at: s.At}
	behind := !s.At.IsZero() && !s.At.After(k.start) && !s.Full.After(k.start) && k.start.Sub(s.Full) < fullScanEvery &&
		(k.leapt.IsZero() || k.leapt.Before(s.Full)) && !k.ledger.settings.RestoredAt.After(s.Full)
	if behind {
		begun.from.At = s.From
	}
	k.scans[collection] = begun
	return begun.from
}

// Scanned records that this pass has read the first page from ScanFrom on, and when its first document was
// due; zero: it has none. Report stores what that says for later passes.
func (k *Lookups) Scanned(collection string, first time.Time) {
	s := k.scans[collection]
	s.read, s.oldest = true, first
	k.scans[collection] = s
}

// storedScans is the scans' part of the marks in a version: with what this pass has read, once it has ended.
// Where another pass has stored what it found meanwhile, the earlier From stands. A full scan that failed is
// tried again soon, and not by the next pass: a store that cannot answer it would let every pass fail.
func (k *Lookups) storedScans(version int64) *Scans {
	all := map[string]Scan{}
	maps.Copy(all, cmp.Or(k.marks.Scans, &Scans{}).Of)
	for collection, s := range k.scans {
		if k.last == nil { // the pass has not ended
			break
		}
		next := all[collection]
		if s.from.At.IsZero() {
			next.Full = k.start
			if !s.read {
				next.Full = k.start.Add(fullScanRetry*k.ledger.settings.Interval - fullScanEvery)
			}
		}
		if s.read {
			oldest := k.start
			if !s.oldest.IsZero() && s.oldest.Before(oldest) {
				oldest = s.oldest
			}
			from := operation.Instant(oldest.Add(-max(scanLag, 2*k.until.Sub(k.start))))
			if next.At.Equal(s.at) || from.Before(next.From) {
				next.From = from
			}
			next.At = k.start
		}
		all[collection] = next
	}
	if len(all) == 0 {
		return nil
	}
	return &Scans{Version: version, Of: all}
}

// behindPass is the first moment at which what is due is left to the next pass: a pass finds what is due at
// its start, too.
func behindPass(start time.Time) time.Time { return start.Add(time.Microsecond) }

// dueFrom returns when a document becomes due that would have been due at due: not before now, where passes
// may have read already.
func dueFrom(due, now time.Time) time.Time {
	return operation.Instant(operation.Later(due, now))
}
