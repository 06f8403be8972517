package geminisim

import "fmt"

// fate is the fault of the network between sender and receiver on one attempt.
type fate int

const (
	delivered   fate = iota
	refused          // a proxy before the receiver answers 503
	unreachable      // no answer at all
	answerLost       // it arrives, but its answer is lost
)

// fate returns the fault of an attempt made now. Windows depend on the seed and the simulated time,
// the kind of fault on the seed and the attempt.
func (s *Sim) fate(msgID string, nth string) fate {
	every, length := s.cfg.Faults.WindowEvery, s.cfg.Faults.WindowLength
	if every <= 0 || length <= 0 {
		return delivered
	}
	t := s.elapsed()
	k := t / every
	// A window never leaves its period, so that only the present period matters.
	from := share(s.rand("window", fmt.Sprint(int64(k))).Float64(), every-length)
	if in := t - k*every; in < from || in >= from+length {
		return delivered
	}
	return refused + fate(s.rand("fate", msgID, nth).IntN(3))
}
