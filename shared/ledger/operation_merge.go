package ledger

import (
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// Merged names the fields of a repeated registration that were added or kept. They are named as in
// the documents, those of the metadata as metadata.FIELD.
type Merged struct {
	Added []string // new to the record
	Kept  []string // the record has another value, which stays
}

// text merges a field whose first value stands.
func (m *Merged) text(field, known, given string) {
	switch {
	case given == "" || given == known:
	case known == "":
		m.Added = append(m.Added, field)
	default:
		m.Kept = append(m.Kept, field)
	}
}

// metadata merges the metadata: the first value of each field stands.
func (m *Merged) metadata(known, given operation.Metadata) error {
	missing, different, err := known.Compare(given)
	if err != nil {
		return fmt.Errorf("comparing metadata: %w", err)
	}
	for _, field := range missing {
		m.Added = append(m.Added, "metadata."+field)
	}
	for _, field := range different {
		m.Kept = append(m.Kept, "metadata."+field)
	}
	return nil
}

// mergedInto compares r with the record before it. refused: its correlation id is left out.
func (r Registration) mergedInto(before operation.Record, refused bool) (Merged, error) {
	var m Merged
	if refused {
		m.Kept = append(m.Kept, "correlationId")
	}
	if !before.Registered {
		return m, nil
	}
	m.text("name", before.Name, r.Name.Resource)
	m.text("jobKind", before.JobKind, r.JobKind)
	if !refused {
		m.text("correlationId", before.CorrelationID, r.CorrelationID)
	}
	if at := operation.Instant(r.SubmittedAt); !operation.Missing(at) && !at.Equal(before.SubmittedAt) {
		m.Kept = append(m.Kept, "submittedAt")
	}
	return m, m.metadata(before.Metadata, r.Metadata)
}

// kept returns the fields of the intention that a stored intent lacks or has with another value:
// they are not stored.
func (i Intention) kept(intent Intent) ([]string, error) {
	var m Merged
	m.text("jobKind", intent.JobKind, i.JobKind)
	m.text("collection", string(intent.Collection), string(i.Collection))
	err := m.metadata(intent.Metadata, i.Metadata)
	return append(m.Kept, m.Added...), err
}
