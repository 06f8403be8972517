package job

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"math"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// CanonicalOptions say how inputs are read.
type CanonicalOptions struct {
	// KeyField is another name of the key, such as custom_id; empty for key.
	KeyField string
	// Job has the bounds of a batch, and the model that a request may name; without a model, the first that
	// a request names, and then the first request says whether all are of embeddings. Zero fields take their defaults.
	Job Options
	// Allowed is what Gemini takes of the model at once: the batches are cut by it, too.
	Allowed Allowed
	// Check, if there is one, says what is wrong with a request beside its form, such as its schema.
	Check func(Request) error

	maxBytes int64 // of all inputs, unpacked; 0: maxInputBytes
}

// maxInputBytes bounds what is read of all inputs, unpacked: a small gzip may be of any size.
const maxInputBytes = 64 << 30

// A Summary describes a canonical input.
type Summary struct {
	// Input has no Object, and is not said to be Checked. Its Tokens are an estimate, for people: one for four bytes of a
	// request's JSON, and 258 for each image or other file, whatever its length.
	Input
	Largest int64 // the bytes of the largest line
	// Batches are the ranges that a Cutter makes of it; they name no object.
	Batches []Source
}

// Canonicalize reads the inputs, each with its name, and writes their requests to w in their order, as
// canonical lines: compact, the key first, nothing between them. An input is JSON Lines, or that in gzip.
// What is canonical stays as it is, byte by byte. It holds some 25 bytes for each key, and one line.
//
// Where something is wrong with the inputs, the error is a *[InputProblems]. They are read to their end all
// the same, to report everything at once, unless that is more than 64 GiB unpacked, or more than [MostParts]
// batches. What was written is of no use. Any other error is one of reading or of writing.
func Canonicalize(w io.Writer, inputs iter.Seq2[string, io.Reader], o CanonicalOptions) (Summary, error) {
	c := &canonical{
		options: o, sum: sha256.New(), cutter: NewCutter(o.Job, "", 0),
		model: ModelName(o.Job.Model), left: cmp.Or(o.maxBytes, maxInputBytes),
	}
	if o.Job.Model != "" {
		c.embeds = &o.Job.Embed
	}
	c.out = bufio.NewWriterSize(io.MultiWriter(w, c.sum), 64<<10)
	for name, input := range inputs {
		if err := c.input(name, input); err != nil {
			return Summary{}, err
		}
		if c.full() {
			break
		}
	}
	if err := c.out.Flush(); err != nil {
		return Summary{}, writing(err)
	}
	return c.finish()
}

func writing(err error) error { return fmt.Errorf("writing the canonical input: %w", err) }

// A canonical is what is known of the inputs while they are read.
type canonical struct {
	options  CanonicalOptions
	summary  Summary
	out      *bufio.Writer
	sum      hash.Hash
	cutter   *Cutter
	batches  int64
	model    string // that a request may name; empty until one is known
	embeds   *bool  // whether the requests are of embeddings; nil until that is known
	inputs   []begun
	left     int64        // bytes that may still be read, unpacked
	lines    int64        // that were read of all inputs
	seen     keyLines     // the lines are counted through all inputs
	text     bytes.Buffer // the line that is written
	sizes    []uint32     // of the lines, where what is allowed asks for them
	problems InputProblems
}

// A begun is an input, and how many lines of others were read before it.
type begun struct {
	name   string
	before int64
}

// input reads an input. What is wrong with its content is a problem, and no error.
func (c *canonical) input(name string, input io.Reader) error {
	c.inputs = append(c.inputs, begun{name, c.lines})
	source := &watched{Reader: input}
	lines, err := openLines(source, &c.left)
	for err == nil && !c.full() {
		var line []byte
		if line, err = lines.next(); errors.Is(err, io.EOF) {
			return nil
		}
		c.lines++
		switch {
		case errors.Is(err, errLong):
			c.report("line", err)
			err = nil
		case err == nil && len(line) > 0:
			if err := c.line(line); err != nil {
				return writing(err)
			}
		}
	}
	if source.err != nil {
		return fmt.Errorf("reading the input %s: %w", name, source.err)
	}
	if err != nil {
		c.report("input", err)
	}
	return nil
}

// full reports whether the inputs are more than a job can have, so that nothing more is read of them.
func (c *canonical) full() bool { return c.left < 0 || c.batches > MostParts }

// line reads a line, and writes its request if nothing was wrong so far.
func (c *canonical) line(line []byte) error {
	r := readRequest(line, c.options.KeyField)
	c.check(r)
	for _, p := range r.problems {
		c.report(p.Field, p.Err)
	}
	if len(c.problems.Problems) > 0 {
		return nil
	}
	c.text.Reset()
	c.text.Grow(len(line) + len(beforeKey+beforeBody)) // else it would grow to twice a large line
	c.text.Write(appendHead(c.text.AvailableBuffer(), r.Key))
	c.text.Write(r.Body)
	c.text.WriteString("}\n")
	size := int64(c.text.Len())
	if size > MaxLineBytes+1 { // with "key" and quotes in place of a shorter name and a number
		c.report("line", errLong)
		return nil
	}
	c.summary.Requests++
	c.summary.Bytes += size
	c.summary.Tokens += r.tokens(int64(len(r.Body)))
	c.summary.Largest = max(c.summary.Largest, size)
	if c.options.Allowed != (Allowed{}) {
		c.sizes = append(c.sizes, uint32(size)) //nolint:gosec // at most MaxLineBytes
	}
	c.batch(c.cutter.Add(size))
	_, err := c.text.WriteTo(c.out)
	return err //nolint:wrapcheck // the caller says what was written
}

// check adds the problems of a request that its line alone does not show.
func (c *canonical) check(r *reading) {
	if r.Key != "" {
		first, repeated := c.seen.add(operation.HashKey(r.Key), uint32(min(c.lines, math.MaxUint32)))
		if repeated {
			r.add("key", "%s is also the key of %s; give each request a key of its own", diag.Quote(r.Key), c.place(first))
		}
	}
	if r.Model != "" {
		if c.model == "" {
			c.model = r.Model
		}
		if r.Model != c.model {
			r.add("model", "%s is not %s, and a job has one model; make a job of each",
				diag.QuoteUpTo(r.Model, 40), diag.QuoteUpTo(c.model, 40))
		}
	}
	if c.embeds == nil && len(r.problems) == 0 {
		c.embeds = &r.embeds
	}
	switch {
	case c.embeds == nil || *c.embeds == r.embeds || len(r.problems) > 0:
	case r.embeds:
		r.add("request.contents", "it is missing; write [%s], or make a job of embeddings, which have content", content)
	default:
		r.add("request.content", "it is missing, and the job is of embeddings; write %s", content)
	}
	if c.options.Check != nil && len(r.problems) == 0 {
		if err := c.options.Check(r.Request); err != nil {
			r.add("request", "%w", err)
		}
	}
}

// batch notes a range of which split makes a batch.
func (c *canonical) batch(batch Source, ok bool) {
	if !ok {
		return
	}
	if c.batches++; c.batches <= MostParts {
		c.summary.Batches = append(c.summary.Batches, batch)
	}
}

// recut cuts the input again by what is allowed: how many tokens a byte has is known once all of it was read.
func (c *canonical) recut() {
	j := Job{Options: c.options.Job, Input: c.summary.Input}
	o := j.Within(c.options.Allowed)
	if len(c.sizes) == 0 || o.MaxBytesPerBatch == c.options.Job.WithDefaults().MaxBytesPerBatch {
		return
	}
	c.cutter, c.batches, c.summary.Batches = NewCutter(o, "", 0), 0, nil
	for _, size := range c.sizes {
		c.batch(c.cutter.Add(int64(size)))
	}
	c.batch(c.cutter.Rest())
}

// finish returns what came of all inputs.
func (c *canonical) finish() (Summary, error) {
	c.batch(c.cutter.Rest())
	c.recut()
	whole := func(field, format string, args ...any) {
		c.problems.add(InputProblem{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	switch {
	case len(c.problems.Problems) > 0:
	case c.summary.Requests == 0:
		whole("input", "there is no request in it; write %s, one a line", form)
	case c.batches > MostParts:
		whole("input", "it makes more than %d batches; raise the requests or the bytes of a batch, or make several jobs",
			MostParts)
	}
	if len(c.problems.Problems) > 0 {
		return Summary{}, &c.problems
	}
	c.summary.SHA256 = hex.EncodeToString(c.sum.Sum(nil))
	return c.summary, nil
}
