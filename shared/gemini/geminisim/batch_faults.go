package geminisim

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// lineFault is what became of one request of an uploaded file.
type lineFault int

const (
	lineDone lineFault = iota
	lineMissing
	lineNull
	lineUnreadable
	lineFailed
	lineItemError
	lineRefused
	lineBlocked
	lineSafety
	lineTruncated
	lineBadJSON
	lineFaults // how many there are
)

// shares returns the share of each fault of a line; lineDone is what is left.
func (f *Faults) shares() [lineFaults]float64 {
	return [lineFaults]float64{
		lineMissing: f.MissingLines, lineNull: f.NullLines, lineUnreadable: f.UnreadableLines,
		lineFailed: f.FailedItems, lineItemError: f.ItemErrors, lineRefused: f.RefusedItems,
		lineBlocked: f.Blocked, lineSafety: f.Safety, lineTruncated: f.Truncated, lineBadJSON: f.BadJSON,
	}
}

// lineFate is what the plan of a batch does to one request. It is drawn from the batch's id and the key, so
// that neither the order of reading nor another batch changes it.
type lineFate struct {
	fault            lineFault
	doubled, foreign bool
	part             float64   // it is in a part of the results that is greater
	x                [4]uint64 // for the details
}

// fateOf draws the fate of a request; one without a key goes by its place.
func (b *operation) fateOf(key string, i int) lineFate {
	name := make([]byte, 0, 128)
	name = append(append(name, b.id...), 0)
	name = append(name, key...)
	if key == "" {
		name = strconv.AppendInt(append(name, 0), int64(i), 10)
	}
	sum := sha256.Sum256(name)
	var f lineFate
	for n := range f.x {
		f.x[n] = binary.LittleEndian.Uint64(sum[8*n:])
	}
	x := unit(f.x[0])
	for fault, share := range b.plan.lines.shares() {
		if x < share {
			f.fault = lineFault(fault)
			break
		}
		x -= share
	}
	if b.embeds && f.fault >= lineBlocked { // an embedding is not written by a model
		f.fault = lineDone
	}
	hasLine := f.fault != lineMissing && f.fault != lineNull && f.fault != lineUnreadable
	f.doubled = hasLine && unit(f.x[1]<<32) < b.plan.lines.DoubledLines
	f.foreign = unit(f.x[1]) < b.plan.lines.ForeignLines
	f.part = unit(f.x[2])
	return f
}

// unit returns a number from 0 to 1, without 1, of random bits; the high ones decide.
func unit(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// in reports whether the results have this request where they have a part of all.
func (f lineFate) in(part float64) bool { return f.part < part }

// pick returns one of several words, by other bits than the fate.
func pick[T any](f lineFate, of ...T) T { return of[f.x[3]%uint64(len(of))] }

// tally counts what became of the requests of a batch: of all, and of those in a part of its results.
type tally struct {
	sent  []uint16 // how often each key was sent by then, of all batches; nil: it is not counted
	whole lineTally
	part  lineTally
}

type lineTally struct {
	of               [lineFaults]int
	doubled, foreign int
}

func (t *lineTally) add(f lineFate) {
	t.of[f.fault]++
	if f.doubled {
		t.doubled++
	}
	if f.foreign {
		t.foreign++
	}
}

// responses counts the requests that have a response.
func (t *lineTally) responses() int {
	return t.of[lineDone] + t.of[lineUnreadable] + t.of[lineBlocked] + t.of[lineSafety] + t.of[lineTruncated] +
		t.of[lineBadJSON]
}

// count reads what a batch asks once more, and counts what becomes of it.
func (b *operation) count(sent *sentKeys) *tally {
	t := &tally{}
	f := b.plan.lines
	drawn := f.DoubledLines > 0 || f.ForeignLines > 0 || b.plan.part > 0
	for _, share := range f.shares() {
		drawn = drawn || share > 0
	}
	if !drawn && sent == nil {
		t.whole.of[lineDone] = b.size()
		return t
	}
	from, err := b.input.content.open()
	if err != nil {
		return t // a download says so
	}
	defer from.close() //nolint:errcheck // it was read
	for i := range b.size() {
		line, err := b.input.line(from, i)
		if err != nil {
			return t
		}
		key := keyOf(line)
		if sent != nil {
			t.sent = append(t.sent, sent.add(key))
		}
		f := b.fateOf(key, i)
		t.whole.add(f)
		if b.plan.part > 0 && f.in(b.plan.part) {
			t.part.add(f)
		}
	}
	return t
}

// lineTally returns the counts of the results of a batch in this state.
func (b *operation) lineTally(at snapshot) *lineTally {
	if b.isPartial(at) {
		return &b.tally().part
	}
	return &b.tally().whole
}

// countResults counts what the results have of a batch that has ended. The caller must hold s.mu.
func (s *Sim) countResults(b *operation) {
	if b.plan.refused && b.now.state == StateFailed {
		s.countLocked(func(st *Stats) { st.BatchesRefused++ })
	}
	if b.input == nil || b.resultFile(b.now) == "" {
		return
	}
	t := b.lineTally(b.now)
	s.countLocked(func(st *Stats) {
		if b.isPartial(b.now) {
			st.PartialResults++
		}
		for fault, counter := range map[lineFault]*int{
			lineMissing: &st.MissingLines, lineNull: &st.NullLines, lineUnreadable: &st.UnreadableLines,
			lineRefused: &st.RefusedItems, lineBlocked: &st.Blocked, lineSafety: &st.Safety,
			lineTruncated: &st.Truncated, lineBadJSON: &st.BadJSON,
		} {
			*counter += t.of[fault]
		}
		st.ItemErrors += t.of[lineFailed] + t.of[lineItemError]
		st.DoubledLines += t.doubled
		st.ForeignLines += t.foreign
	})
}
