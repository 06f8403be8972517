package geminisim

import "fmt"

// fate is what the road between sender and receiver does to an attempt.
type fate int

const (
	delivered   fate = iota
	refused          // something in front of the receiver answers 503
	unreachable      // no answer at all
	answerLost       // the receiver gets it, its answer does not come back
)

// fate says what happens to an attempt made now. Windows follow from the seed and the simulated
// time, the kind of trouble from the seed and the attempt.
func (s *Sim) fate(msgID string, nth string) fate {
	every, length := s.cfg.Faults.WindowEvery, s.cfg.Faults.WindowLength
	if every <= 0 || length <= 0 {
		return delivered
	}
	t := s.elapsed()
	k := t / every
	// Each period has its window wholly inside itself, so that a look at one period is enough.
	from := share(s.rand("window", fmt.Sprint(int64(k))).Float64(), every-length)
	if in := t - k*every; in < from || in >= from+length {
		return delivered
	}
	return refused + fate(s.rand("fate", msgID, nth).IntN(3))
}
