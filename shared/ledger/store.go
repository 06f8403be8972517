package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Store keeps documents for the ledger. It is small on purpose: everything that decides is written once, above it. Every
// store passes the conformance suite in ledgertest, which pins what is said here.
//
// Documents are Go structs whose `json` and `firestore` tags agree on names. Times are cut to microseconds. A field whose tag
// says omitempty or omitzero is absent from the document while it is zero, also where an earlier version had it; absent is
// never stored as null.
type Store interface {
	// Get reads documents, in the order asked for. One that does not exist has no Token. ReadTime is the store's own time,
	// never before what was read was written. It is "now" for leases and for what is due: the clocks of a hundred instances
	// do not agree. Without paths Get only tells the time.
	Get(ctx context.Context, paths ...Path) (Snapshot, error)
	// Commit writes all or nothing, at once, and only if every write's precondition holds; otherwise it returns ErrConflict.
	// On any other error the writes may or may not have been made: read again and see.
	Commit(ctx context.Context, writes ...Write) error
	// Query finds documents by one time field.
	Query(ctx context.Context, q Query) ([]Document, error)
	// Close lets go of what the store holds.
	Close() error
}

// The errors of a store. Any other error, too, means that it is not known whether something was written.
var (
	// ErrConflict: a precondition did not hold and nothing was written. Read again, decide again.
	ErrConflict = errors.New("the document was changed by somebody else")
	// ErrUnavailable: the store cannot be reached or is overloaded; the same call may succeed later.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrInvalid: the store will never take these documents (too large, an id it refuses). Trying again does not help.
	ErrInvalid = errors.New("the store refuses the document")
	// ErrTooBig: the writes of one commit are too many, or too large together. Nothing was written. Fewer of them in one commit
	// may be taken; the same ones never are, so it is ErrInvalid, too.
	ErrTooBig = fmt.Errorf("%w: one commit holds too much", ErrInvalid)
)

// MaxDocumentBytes is the largest document that every store takes, by its own way of measuring; a little more is refused by
// all of them with ErrInvalid.
const MaxDocumentBytes = 1 << 20

// A Token stands for one version of one document: every write makes a new one, and a document that was deleted and made
// again never has an old one. The empty token stands for "does not exist".
type Token string

// A Document is one document as it was read.
type Document struct {
	Path  Path
	Token Token
	// At is the time in the field that a query found the document by; zero where Get read it.
	At     time.Time
	decode func(into any) error
}

// NewDocument is for stores: decode fills in the struct it is given a pointer to.
func NewDocument(path Path, token Token, decode func(into any) error) Document {
	return Document{Path: path, Token: token, decode: decode}
}

// Exists reports whether the document was there when it was read.
func (d Document) Exists() bool { return d.Token != "" }

// Decode fills the struct that into points to. A document that does not exist leaves it as it is.
func (d Document) Decode(into any) error {
	if !d.Exists() {
		return nil
	}
	return d.decode(into)
}

// A Snapshot is what Get read.
type Snapshot struct {
	Documents []Document
	ReadTime  time.Time
}

// A Write replaces, creates or deletes one document.
type Write struct {
	Path Path
	// Token is the precondition: the document still has this version, or does not exist where it is empty.
	Token Token
	// Data is a struct of exported fields, the whole new content; nil deletes the document, which must exist.
	Data any
}

// A Query finds the documents of one collection that have a time in the field OrderBy, in its order; documents with the same
// time are in the order of their paths, segment by segment. What else a document holds does not keep it from being found.
type Query struct {
	// Collection is the last collection word of the documents' paths.
	Collection string
	// Under, if not empty, is the document that they are directly under; otherwise they are found wherever they are.
	Under Path
	// Where names string or bool fields and the value each must have.
	Where []Equal
	// OrderBy is one of the time fields below.
	OrderBy    string
	Descending bool
	// NotAfter, if not zero, leaves out documents whose OrderBy is later.
	NotAfter time.Time
	// After, if its Path is not empty, starts behind the document it came from.
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
)

// Equal is a condition of a query.
type Equal struct {
	Field string
	Value any
}

// A Cursor marks a place in a query's order: a document's OrderBy time and path.
type Cursor struct {
	At   time.Time
	Path Path
}
