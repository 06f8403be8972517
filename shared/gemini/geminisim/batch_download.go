package geminisim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
)

// order is in which order a download has the results of a file, and how many: of the last one only a
// half, where it is cut.
type order struct {
	shuffled []int // nil: in the order of the requests
	results  int
	cut      bool
}

func (f Faults) order(read *rand.Rand, results int) order {
	o := order{results: results}
	if read.Float64() < f.Shuffled {
		o.shuffled = read.Perm(results)
	}
	if o.cut = read.Float64() < f.Cut && results > 0; o.cut {
		o.results = 1 + read.IntN(results)
	}
	return o
}

// writeResults writes the results of a file, which are made while they are written. A download that is
// cut ends in the middle of a line, unless there is none.
func (b *operation) writeResults(to io.Writer, at snapshot, o order) error {
	lines, err := b.openLines(at)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, 64<<10)
	err = errors.Join(lines.write(w, o), w.Flush())
	return errors.Join(err, lines.close())
}

// resultLines makes the lines of a file of results.
type resultLines struct {
	of      *operation
	at      snapshot
	asked   *contentReader // nil: the input was not uploaded here
	doubled []int          // their second lines come at the end
}

func (b *operation) openLines(at snapshot) (*resultLines, error) {
	lines := &resultLines{of: b, at: at}
	if b.input == nil {
		return lines, nil
	}
	var err error
	lines.asked, err = b.input.content.open()
	return lines, err
}

func (l *resultLines) close() error {
	if l.asked == nil {
		return nil
	}
	return l.asked.close()
}

func (l *resultLines) write(w io.Writer, o order) error {
	line, last := &bytes.Buffer{}, &bytes.Buffer{} // last is not written yet
	for at := range l.of.size() {
		if o.cut && at >= o.results && last.Len() > 0 {
			break
		}
		i := at
		if o.shuffled != nil {
			i = o.shuffled[at]
		}
		line.Reset()
		if err := l.result(line, i); err != nil {
			return err
		}
		if line.Len() == 0 {
			continue
		}
		if _, err := last.WriteTo(w); err != nil {
			return err
		}
		line, last = last, line
	}
	if o.cut {
		last.Truncate(half(last.Bytes()))
	}
	if _, err := last.WriteTo(w); err != nil || o.cut {
		return err
	}
	for _, i := range l.doubled {
		if err := l.again(w, i); err != nil {
			return err
		}
	}
	return nil
}

// half returns where the half of the last of some lines ends.
func half(lines []byte) int {
	begins := bytes.LastIndexByte(bytes.TrimSuffix(lines, []byte("\n")), '\n') + 1
	return (begins + len(lines)) / 2
}

// result adds what the file has for the ith request.
func (l *resultLines) result(to *bytes.Buffer, i int) error {
	if l.asked == nil {
		return json.NewEncoder(to).Encode(l.of.fileLine(i))
	}
	r, err := l.request(i)
	if err != nil {
		return err
	}
	if l.of.isPartial(l.at) && !r.in(l.of.plan.part) {
		return nil
	}
	if err := r.line(to); err != nil {
		return err
	}
	if r.doubled {
		l.doubled = append(l.doubled, i)
	}
	if r.foreign {
		return r.foreignLine(to)
	}
	return nil
}

// again writes the second line of a request.
func (l *resultLines) again(w io.Writer, i int) error {
	r, err := l.request(i)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(resultLine{Key: r.key, Response: r.answer("Another result of "+r.key+".", "STOP")})
}

// request reads the ith request again.
func (l *resultLines) request(i int) (request, error) {
	line, err := l.of.input.line(l.asked, i)
	if err != nil {
		return request{}, err
	}
	return l.of.request(line, i), nil
}
