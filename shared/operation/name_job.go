package operation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// Jobs is the collection of jobs, which are operations of the ledger's own: Gemini knows none.
const Jobs Collection = "jobs"

var jobID = diag.Pattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// ErrJobID is what is wrong with a job's id.
var ErrJobID = fmt.Errorf("%w: a job's id is 1 to 64 letters, digits, - and _, and begins with a letter or digit",
	ErrName)

// JobKey returns the key of the job with this id. The error wraps ErrJobID.
func JobKey(id string) (Key, error) {
	if !jobID().MatchString(id) {
		return "", fmt.Errorf("%w; %s is none", ErrJobID, diag.Quote(id))
	}
	return keyOf(Jobs, id), nil
}

// PartKey names a part of a job, as in "jobs/nightly/00012". It is the key of the part's effects, and the
// correlation id of the batch that is made of it [J3].
func PartKey(job Key, number int) Key { return Key(fmt.Sprintf("%s/%05d", job, number)) }

// ParsePart returns the job and the number that a part's key has; false for any other text.
func ParsePart(text string) (job Key, number int, ok bool) {
	cut := strings.LastIndexByte(text, '/')
	job = Key(text[:max(cut, 0)])
	number, _ = strconv.Atoi(text[cut+1:]) // 0 for what is no number
	if job.Collection() != Jobs || !jobID().MatchString(job.ID()) || number < 1 {
		return "", 0, false
	}
	return job, number, string(PartKey(job, number)) == text
}

// ErrReserved: a name or an id belongs to jobs, so no submitter may use it.
var ErrReserved = errors.New("what begins with jobs/ belongs to jobs; choose another one")

// Reserved reports whether an id or a name belongs to the jobs of the ledger, so that no submitter may use
// it [J3].
func Reserved(text string) bool {
	word, _, found := strings.Cut(strings.TrimLeft(text, "/"), "/")
	return found && strings.EqualFold(strings.TrimSpace(word), string(Jobs))
}

// IsPart reports whether the operation is the batch of a job's part: only its own step runs for it.
func (r Record) IsPart() bool {
	_, _, part := ParsePart(r.CorrelationID)
	return r.Registered && part
}
