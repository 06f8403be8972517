package ledger

import (
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// Merged says what became of what was said of something that is known already. The fields are named
// as in the documents, those of the metadata as metadata.FIELD.
type Merged struct {
	Added []string // nothing was known of these before
	Kept  []string // it says otherwise of these, and stays as it is
}

// text merges a field of which the first word stands.
func (m *Merged) text(field, known, said string) {
	switch {
	case said == "" || said == known:
	case known == "":
		m.Added = append(m.Added, field)
	default:
		m.Kept = append(m.Kept, field)
	}
}

// metadata merges the metadata, whose fields each stand.
func (m *Merged) metadata(known, said operation.Metadata) error {
	missing, different, err := known.Compare(said)
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

// mergedInto says what r comes to on the record before it. taken: its correlation id is left out.
func (r Registration) mergedInto(before operation.Record, taken bool) (Merged, error) {
	var m Merged
	if taken {
		m.Kept = append(m.Kept, "correlationId")
	}
	if !before.Registered {
		return m, nil
	}
	m.text("name", before.Name, r.Name.Resource)
	m.text("jobKind", before.JobKind, r.JobKind)
	if !taken {
		m.text("correlationId", before.CorrelationID, r.CorrelationID)
	}
	if at := operation.Instant(r.SubmittedAt); !at.IsZero() && !at.Equal(before.SubmittedAt) {
		m.Kept = append(m.Kept, "submittedAt")
	}
	return m, m.metadata(before.Metadata, r.Metadata)
}

// kept says which fields of the intention an intent that is there says otherwise, or nothing of: it
// stays as it is.
func (i Intention) kept(intent Intent) ([]string, error) {
	var m Merged
	m.text("jobKind", intent.JobKind, i.JobKind)
	m.text("collection", string(intent.Collection), string(i.Collection))
	err := m.metadata(intent.Metadata, i.Metadata)
	return append(m.Kept, m.Added...), err
}
