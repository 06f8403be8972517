package ledger

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Store keeps documents for the ledger. It is small on purpose: every decision is written once,
// above it. Every store passes the conformance suite in ledgertest, which tests what is promised
// here.
//
// Documents are Go structs whose `json` and `firestore` tags agree on names. Times are cut to
// microseconds. A field whose tag has omitempty or omitzero is absent from the document while it is
// zero, also where an earlier version had it; absent is never stored as null.
type Store interface {
	// Get reads documents, in the order of paths, as of one instant. One that does not exist has no
	// Token. ReadTime is the store's own time, never before what was read was written. It is "now"
	// for leases and due times, because the clocks of a hundred instances differ. Without paths Get
	// only returns the time.
	Get(ctx context.Context, paths ...Path) (Snapshot, error)
	// Commit writes all or nothing, at once, and only if every write's precondition holds;
	// otherwise it returns ErrConflict. On any other error the writes may or may not have been
	// made: read again. It returns the new token of each document, in the order of writes; empty for
	// one that was deleted. Data is encoded before Commit returns: a later change of it changes
	// nothing of a commit that is still on its way.
	Commit(ctx context.Context, writes ...Write) ([]Token, error)
	// Query finds documents by one time field.
	Query(ctx context.Context, q Query) ([]Document, error)
	// Count returns how many documents q finds, in all its pages from After on, and at most ceiling,
	// which must be positive. q's Limit is ignored. It reads no document.
	Count(ctx context.Context, q Query, ceiling int) (int, error)
	// Close releases what the store holds.
	Close() error
}

// The errors of a store. After any other error, too, the writes may have been made.
var (
	// ErrConflict: a precondition did not hold, and nothing was written. Read and decide again.
	ErrConflict = errors.New("the document was changed by another call")
	// ErrUnavailable: the store cannot be reached or is overloaded; the same call may succeed
	// later.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrInvalid: the store refuses these documents (too large, an id it refuses). No retry helps.
	ErrInvalid = errors.New("the store refuses the document")
	// ErrTooBig: the writes of one commit are too many, or too large together. Nothing was written.
	// Fewer of them in one commit may be accepted; the same ones never are, so it is an ErrInvalid.
	ErrTooBig = fmt.Errorf("%w: one commit holds too much", ErrInvalid)
)

// MaxDocumentBytes is the largest document that every store accepts, by its own measure. Every
// store refuses a slightly larger one with ErrInvalid.
const MaxDocumentBytes = 1 << 20

// A Token identifies one version of one document. Every write makes a new one, and a document that
// was deleted and created again never has an old one. The empty token means "does not exist".
type Token string

// A Document is one document, as it was read.
type Document struct {
	Path  Path
	Token Token
	// At is the value of the time field that a query ordered by; zero where Get read the document.
	At     time.Time
	decode func(into any) error
}

// NewDocument is for stores: decode fills in the struct that it is given a pointer to.
func NewDocument(path Path, token Token, decode func(into any) error) Document {
	return Document{Path: path, Token: token, decode: decode}
}

// Exists reports whether the document existed when it was read.
func (d Document) Exists() bool { return d.Token != "" }

// ErrNewer: a newer revision wrote the document, in a shape that this one may misread. It is left
// alone until a revision that reads it is deployed again [L6].
var ErrNewer = errors.New("a newer revision of opledger wrote it")

// Decode fills in the struct that into points to. A document that does not exist leaves it
// unchanged. ErrNewer: its number is higher than this revision reads, whatever else it holds; the struct
// is then zero.
func (d Document) Decode(into any) error {
	if !d.Exists() {
		return nil
	}
	err := d.decode(into)
	if number := d.number(into, err); number > operation.NewestSchema {
		reflect.ValueOf(into).Elem().SetZero() // what was decoded may be misread
		return fmt.Errorf("%w: its schema is %d, and this revision reads %d at most", ErrNewer, number,
			operation.NewestSchema)
	}
	return err
}

// number returns the document's number [L6]. It is in what was decoded, with or without an error. Only where that
// failed, or has no number, is the document decoded again: that takes a third as long.
func (d Document) number(decoded any, err error) int {
	if field := reflect.ValueOf(decoded).Elem().FieldByName("Schema"); err == nil && field.IsValid() {
		return int(field.Int())
	}
	var numbered struct {
		Schema int `json:"schema" firestore:"schema"`
	}
	if d.decode(&numbered) != nil { // it is no number of the ledger's: the error is that of the whole
		return 0
	}
	return numbered.Schema
}

// A Snapshot is what Get read.
type Snapshot struct {
	Documents []Document
	ReadTime  time.Time
	// Leapt is when the store's clock was last seen to leap, forward or back, by what it showed then.
	// From then on it has run evenly. Zero: never, as of a store whose clock cannot.
	Leapt time.Time
}

// A Write replaces, creates or deletes one document.
type Write struct {
	Path Path
	// Token is the precondition: the document still has this version, or does not exist where it is
	// empty.
	Token Token
	// Data is a struct of exported fields; nil deletes the document, which must exist. It replaces
	// what the document has in these fields. Other fields, which another revision added, stay as
	// they are [L5]; only those at the top of the document are told apart.
	Data any
}

// A Query finds the documents of one collection that have a time in the field OrderBy, in its
// order. Documents with the same time are in the order of their paths, segment by segment. Whatever
// else a document holds, it is found.
type Query struct {
	// Collection is the last collection word of the documents' paths.
	Collection string
	// Under, if not empty, is the document that they are directly under; otherwise they are found
	// wherever they are.
	Under Path
	// Where names string or bool fields and the value each must have.
	Where []Equal
	// OrderBy is one of the time fields below.
	OrderBy    string
	Descending bool
	// NotBefore and NotAfter, if not zero, leave out documents whose OrderBy is earlier, or later.
	NotBefore, NotAfter time.Time
	// After, if its Path is not empty, starts behind the document that the cursor came from.
	After Cursor
	// Limit is the most documents to return; it must be positive.
	Limit int
}

// The time fields that queries order by.
const (
	FieldDueAt      = "dueAt"
	FieldCreatedAt  = "createdAt"
	FieldReceivedAt = "receivedAt"
	FieldFailedAt   = "failedAt"
	FieldWaiting    = "waitingSince"
	FieldSettledAt  = "settledAt"
	FieldConflictAt = "conflictAt"

	FieldLateAt       = "lateAt"
	FieldUnresolvedAt = "unresolvedAt"
	FieldFailingSince = "failingSince"
)

// Equal is a condition of a query.
type Equal struct {
	Field string
	Value any
}

// A Cursor is a position in a query's order: a document's OrderBy time and path.
type Cursor struct {
	At   time.Time
	Path Path
}
