package ledger

import "github.com/opledger/opledger/shared/operation"

// Merged names the fields of a repeated registration that were added or kept. They are named as in
// the documents, those of the metadata as metadata.FIELD.
type Merged struct {
	Added []string // new to the record
	Kept  []string // the record has another value, which stays
}

// mergedInto compares r with the record before it. refused: its correlation id is left out.
func (r Registration) mergedInto(before operation.Record, refused bool) (Merged, error) {
	var m Merged
	if refused {
		m.Kept, r.CorrelationID = []string{"correlationId"}, ""
	}
	if !before.Registered {
		return m, nil
	}
	if r.Name.Resource != before.Name {
		m.Kept = append(m.Kept, "name")
	}
	if at := operation.Instant(r.SubmittedAt); !operation.Missing(at) && !at.Equal(before.SubmittedAt) {
		m.Kept = append(m.Kept, "submittedAt")
	}
	missing, different, err := before.Submission.Compare(r.Submission)
	m.Added, m.Kept = missing, append(m.Kept, different...)
	return m, err
}

// kept returns the fields of the intention that a stored intent lacks or has with another value:
// they are not stored.
func (i Intention) kept(intent Intent) ([]string, error) {
	missing, different, err := intent.Submission.Compare(i.Submission)
	if i.Collection != "" && i.Collection != intent.Collection {
		different = append(different, "collection")
	}
	return append(different, missing...), err
}
