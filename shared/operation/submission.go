package operation

import (
	"cmp"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Submission is what a submitter says about its operation, before and after it has a name.
// Requests, intents and records embed it: its fields stand at the top of their documents [L5].
type Submission struct {
	// CorrelationID is the submitter's own id of the operation, which it puts into the operation's
	// user metadata [K6]. No other operation has it. Empty: it has none.
	CorrelationID string `json:"correlationId,omitempty" firestore:"correlationId,omitempty"`
	// JobKind is the submitter's own label for what the job is for, such as "batch-review-classify".
	JobKind  string   `json:"jobKind,omitempty" firestore:"jobKind,omitempty"`
	Metadata Metadata `json:"metadata,omitempty" firestore:"metadata,omitempty"`
	// TraceParent is the trace in which the operation was first submitted. Effects send it on.
	TraceParent TraceParent `json:"traceParent,omitempty" firestore:"traceParent,omitempty"`
}

const (
	// MaxLabelBytes bounds a job kind and an id. A longer correlation id is not recognized in events.
	MaxLabelBytes = 256
	// MaxMetadataBytes bounds the metadata of an operation, all registrations together: it is part of
	// every effect's payload.
	MaxMetadataBytes = 64 << 10
)

// Fill returns s with the fields of other that s lacks. Metadata counts as one field here; see
// Metadata.Add.
func (s Submission) Fill(other Submission) Submission {
	s.CorrelationID = cmp.Or(s.CorrelationID, other.CorrelationID)
	s.JobKind = cmp.Or(s.JobKind, other.JobKind)
	s.Metadata = cmp.Or(s.Metadata, other.Metadata)
	s.TraceParent = cmp.Or(s.TraceParent, other.TraceParent)
	return s
}

// Compare returns the names of the fields of given that s lacks, and of those that have another value
// in s. They are named as in the documents, those of the metadata as metadata.FIELD. A trace is not among them:
// a repeated submission has another. The error wraps ErrMetadata.
func (s Submission) Compare(given Submission) (missing, different []string, err error) {
	for _, field := range []struct{ name, known, given string }{
		{"jobKind", s.JobKind, given.JobKind},
		{"correlationId", s.CorrelationID, given.CorrelationID},
	} {
		switch {
		case field.given == "" || field.given == field.known:
		case field.known == "":
			missing = append(missing, field.name)
		default:
			different = append(different, field.name)
		}
	}
	lacks, differs, err := s.Metadata.Compare(given.Metadata)
	for _, field := range lacks {
		missing = append(missing, "metadata."+field)
	}
	for _, field := range differs {
		different = append(different, "metadata."+field)
	}
	return missing, different, err
}

// Validate returns every problem of s. A submission without a correlation id has none for that.
func (s Submission) Validate() Problems {
	var problems Problems
	if len(s.Metadata) > MaxMetadataBytes {
		problems.Add("metadata", "%d bytes are more than %d", len(s.Metadata), MaxMetadataBytes)
	} else if _, err := ParseMetadata([]byte(s.Metadata)); err != nil {
		problems.Add("metadata", "%w", err)
	}
	if len(s.JobKind) > MaxLabelBytes {
		problems.Add("jobKind", "%d bytes are more than %d", len(s.JobKind), MaxLabelBytes)
	} else if !utf8.ValidString(s.JobKind) {
		problems.Add("jobKind", "%q is not UTF-8", s.JobKind)
	}
	problems.AddID("correlationId", s.CorrelationID)
	problems.When(Reserved(s.CorrelationID), "correlationId", "%w", ErrReserved)
	return problems
}

// Problems are those of what a submitter sent.
type Problems []FieldError

// A FieldError is what is wrong with one field. It wraps ErrSubmission.
type FieldError struct {
	Field string // as in the documents
	Err   error
}

// ErrSubmission is wrapped by every problem of a submission. No retry of the same one helps.
var ErrSubmission = errors.New("the submission is invalid")

// Error names the field and what is wrong with it.
func (e FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns ErrSubmission and what is wrong.
func (e FieldError) Unwrap() []error { return []error{ErrSubmission, e.Err} }

// Add appends a problem of a field. The format is that of fmt.Errorf.
func (p *Problems) Add(field, format string, args ...any) {
	*p = append(*p, FieldError{field, fmt.Errorf(format, args...)})
}

// When appends a problem of a field if it is one.
func (p *Problems) When(wrong bool, field, format string, args ...any) {
	if wrong {
		p.Add(field, format, args...)
	}
}

// AddID appends what is wrong with an id of the submitter's; nothing for one that is valid or empty.
func (p *Problems) AddID(field, id string) {
	switch {
	case len(id) > MaxLabelBytes:
		p.Add(field, "%d bytes are more than %d", len(id), MaxLabelBytes)
	case Garbled(id):
		p.Add(field, "it has U+FFFD in place of what could not be decoded; send UTF-8, without half a surrogate pair")
	}
}

// Err returns the problems joined; nil where there is none.
func (p Problems) Err() error {
	errs := make([]error, len(p))
	for i, problem := range p {
		errs[i] = problem
	}
	return errors.Join(errs...)
}
