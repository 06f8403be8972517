// Package check makes the checks of answers that a job's submitter asks for: that they are JSON, or match the
// schema of their request. It is a room of its own because it links a validator, whose start takes 8 ms: the
// functions that only read jobs do without.
package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/opledger/opledger/shared/job"
)

// maxTextBytes bounds a text that is matched with a schema: as a tree it takes many times its size. An answer
// of the most output tokens is smaller.
const maxTextBytes = 4 << 20

// matches returns the check of a schema; nil stands for any JSON value.
func matches(schema *jsonschema.Schema) job.Check {
	return func(text []byte) string {
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			return "the answer has no text, and must be JSON"
		}
		if !json.Valid(text) {
			var value json.RawMessage
			return fmt.Sprint("the answer's text is not one JSON value: ", json.Unmarshal(text, &value))
		}
		if schema == nil {
			return ""
		}
		if len(text) > maxTextBytes {
			return fmt.Sprintf("the answer has %d bytes, more than %d: it cannot be checked", len(text), maxTextBytes)
		}
		// As float64: of a number with a huge exponent the validator would panic, or compute for long.
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return "the answer cannot be checked: " + err.Error()
		}
		if err := schema.Validate(value); err != nil {
			return "the answer does not match its schema: " + leaves(err)
		}
		return ""
	}
}

// maxLeaves bounds what is said of an answer that breaks its schema.
const maxLeaves = 3

// leaves words what a schema does not allow, without the path through the schema.
func leaves(err error) string {
	invalid := (*jsonschema.ValidationError)(nil)
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var said []string
	var visit func(*jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 && len(said) < maxLeaves {
			said = append(said, e.Error())
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	visit(invalid)
	return strings.Join(said, "; ")
}

// The schemas that a Checks keeps are bounded by their number and by the bytes of their texts. A job's
// requests seldom have more than a few.
const (
	maxKept      = 64
	maxKeptBytes = 1 << 20
)

// Checks makes the checks of many requests. It compiles a schema once, however many requests have it, and
// keeps the last few. It may be used by several goroutines.
type Checks struct {
	validate  string
	mu        sync.Mutex
	kept      map[[sha256.Size]byte]compiled
	keptBytes int
}

// A compiled is what became of a schema.
type compiled struct {
	check job.Check
	err   error
}

// NewChecks returns the checks of a job's Options.Validate: "", "json" or "schema".
func NewChecks(validate string) *Checks {
	return &Checks{validate: validate, kept: map[[sha256.Size]byte]compiled{}}
}

// Of returns the check that [job.Options].Validate asks for, of the answers to one request: nil for "". For
// "schema" it is the request's own schema, and for a request without one it is that of "json". An error
// says why the schema cannot be used.
func (c *Checks) Of(request json.RawMessage) (job.Check, error) {
	switch c.validate {
	case "":
		return nil, nil //nolint:nilnil // a nil Check takes any answer
	case "json":
		return matches(nil), nil
	case "schema":
	default:
		return nil, fmt.Errorf("an answer is checked as json or schema, not as %q", c.validate)
	}
	schema := findSchema(request)
	if schema.text == nil {
		return matches(nil), nil
	}
	sum := sha256.Sum256(append([]byte{byte(schema.dialect)}, schema.text...))
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept[sum]
	if !ok {
		if len(c.kept) >= maxKept || c.keptBytes+len(schema.text) > maxKeptBytes {
			clear(c.kept)
			c.keptBytes = 0
		}
		found.check, found.err = schema.compile()
		c.kept[sum] = found
		c.keptBytes += len(schema.text)
	}
	return found.check, found.err
}
