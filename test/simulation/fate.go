package simulation

import "time"

// A fate is what becomes of one call.
type fate uint8

const (
	works      fate = iota
	refused         // it does not arrive, and the caller is told that the other side is not available
	answerLost      // it arrives, and the caller is told the same
	late            // the caller is told the same, and then it arrives
	slow            // it arrives, and is answered late: meanwhile what it read grows stale
	frozen          // it arrives, and the process stands still for longer than a lease
	diesBefore      // the process dies, and it does not arrive
	diesAfter       // it arrives, and the process dies
	stopped         // the process is told to stop; the call may arrive or not
	dropped         // it is acknowledged and lost
	twice           // it arrives twice
	missing         // Gemini does not find what it has
	stale           // Gemini answers what was true minutes ago
	busy            // Gemini answers 429
	declined        // the other side refuses for good
	hours           // it takes far longer than a lease, and works
	lacking         // Gemini's answer lacks something this time
	told            // it works, and the process is told to begin nothing more
)

var fateNames = [...]string{
	"works", "REFUSED", "ANSWER LOST", "ARRIVES LATE", "SLOW ANSWER", "PROCESS FROZEN", "PROCESS DIES BEFORE",
	"PROCESS DIES AFTER", "PROCESS STOPPED", "DROPPED", "TWICE", "NOT FOUND", "STALE", "429", "DECLINED", "TAKES LONG",
	"LACKING", "TOLD TO STOP",
}

func (f fate) String() string { return fateNames[f] }

// What the fates of time last. None is a multiple of another, nor of what the ledger waits for, so
// that two things do not happen at the same instant.
const (
	slowBy    = 3217 * time.Millisecond // longer than a publisher waits
	lateBy    = 47*time.Second + 311*time.Millisecond
	frozenFor = 11*time.Minute + 131*time.Millisecond // longer than a lease
	takesLong = 16*time.Minute + 173*time.Millisecond
	staleBy   = 5 * time.Minute

	listStaleBy = 3 * time.Minute
)

// The fates of the kinds of calls.
var (
	readFates    = []fate{refused, slow, frozen, diesBefore, diesAfter}
	commitFates  = []fate{refused, answerLost, late, slow, frozen, diesBefore, diesAfter}
	publishFates = []fate{refused, answerLost, slow, dropped, twice, diesBefore, diesAfter}
	askFates     = []fate{refused, slow, frozen, diesBefore, diesAfter, missing, stale, busy}
	fetchFates   = []fate{refused, slow, frozen, diesBefore, diesAfter, missing, busy}
	createFates  = []fate{refused, answerLost, late, slow, diesBefore, diesAfter, declined}
	performFates = []fate{refused, answerLost, late, slow, frozen, diesBefore, diesAfter, stopped, declined, hours}
	messageFates = []fate{dropped, late, twice}
	webhookFates = []fate{dropped, late, twice}
)
