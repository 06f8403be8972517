package job

import (
	"fmt"
	"slices"

	"github.com/opledger/opledger/shared/operation"
)

// waitsForPilot reports whether a part is none of the pilot's, while it is not decided whether others are started
// [J13]. The pilot is the first part, and what is made of it: its pieces, and parts of later rounds.
func (n *next) waitsForPilot(p Part) bool {
	return n.Job.Pilot > 0 && p.Number > 1 && p.Root == 0 && p.Round == 1
}

// idle reports whether no part is open of those that may be started. Parts of the pilot are before all others, so
// that where none is among those that were read there is none.
func (n *next) idle() bool {
	return (!n.more || n.Job.Pilot > 0) &&
		!slices.ContainsFunc(n.open, func(p Part) bool { return p.State.Open() && !n.waitsForPilot(p) })
}

// pilot lets the rest of a job be started once every request of its pilot has a final outcome, or holds the job
// where too many are not done [J13]. Nothing else was started, so all that is done is the pilot's. Requests of parts
// that were dropped are counted nowhere yet, and are not done.
func (n *next) pilot() {
	j := &n.Job
	if j.Pilot == 0 || !j.Starts() || !n.idle() {
		return
	}
	notDone := j.Pilot - j.Counts.Done
	rest := slices.ContainsFunc(n.open, func(p Part) bool { return p.State.Open() })
	if rest && j.Options.PilotFailures.Exceeded(notDone, j.Pilot) {
		n.hold(HeldByPilot, "%d of the pilot's %d requests were not done, and --pilot-failures allows %s", notDone, j.Pilot,
			j.Options.PilotFailures)
	}
	j.Pilot = 0
}

// hold holds the job until someone resumes or cancels it [J11]. A pass alerts of it.
func (n *next) hold(reason HoldReason, format string, args ...any) {
	n.Held = true
	n.Job.Hold = &Hold{
		Reason: reason, Decided: operation.Decided{At: n.now, By: "opledger", Why: fmt.Sprintf(format, args...)},
	}
}
