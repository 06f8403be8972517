package firestore_test

import (
	"fmt"

	"google.golang.org/grpc/codes"
)

// wireFaults are all faults that each request of each call meets.
func wireFaults() []wireFault {
	var faults []wireFault
	add := func(p place, code codes.Code, name string) {
		faults = append(faults, wireFault{name: name, place: p, code: code, streams: true, commits: true})
	}
	for _, code := range []codes.Code{
		codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Aborted,
		codes.Canceled, codes.PermissionDenied, codes.Unauthenticated, codes.NotFound, codes.FailedPrecondition,
	} {
		add(refused, code, fmt.Sprintf("refused with %s", code))
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.PermissionDenied, codes.Aborted} {
		add(refused, code, fmt.Sprintf("refused with %s from then on", code))
		faults[len(faults)-1].every = true
	}
	for _, code := range []codes.Code{
		codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Canceled,
	} {
		add(lost, code, fmt.Sprintf("made and answered with %s", code))
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.Unknown, codes.ResourceExhausted} {
		add(midway, code, fmt.Sprintf("closed in the middle with %s", code))
		faults[len(faults)-1].commits = false
	}
	add(midwayLate, codes.Unavailable, "closed in the middle, and resumed after the lease")
	faults[len(faults)-1].commits = false
	add(silentBefore, codes.OK, "not sent, and silent past the deadline")
	add(silentAfter, codes.OK, "made, and silent past the deadline")
	add(lateBefore, codes.OK, "sent after the lease")
	add(lateAfter, codes.OK, "answered after the lease")
	add(cutAsSent, codes.OK, "cut while it is sent")
	add(cutAsAnswered, codes.OK, "cut while it is answered")
	return faults
}

// meets reports whether the fault can happen to a request.
func (f wireFault) meets(method string) bool {
	if method == "Commit" {
		return f.commits
	}
	return f.streams
}

// endsCaller reports whether the fault is that the caller's time is over.
func (f wireFault) endsCaller() bool {
	return f.place == silentBefore || f.place == silentAfter || f.every && clientRepeats(f.code)
}

// conflicts reports whether a commit that is answered so was not made because of another one.
func (f wireFault) conflicts() bool {
	return f.code == codes.Aborted || f.code == codes.NotFound || f.code == codes.FailedPrecondition
}

// isLate reports whether other workers go on meanwhile.
func (f wireFault) isLate() bool {
	return f.place == lateBefore || f.place == lateAfter || f.place == midwayLate
}
