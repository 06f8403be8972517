package simulation

import (
	"cmp"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// far is by how much later a deadline seems to be.
const far = 1000 * time.Hour

// A Flaw breaks one guard of the protocol, by what the store does with the ledger's documents. The
// invariants must notice each.
type Flaw uint8

// The flaws.
const (
	Sound          Flaw = iota
	NoCondition         // the store takes every write, whatever was read before it [M6]
	NoDelivery          // deliveries are not kept, so that none is recognised [W4]
	NoDueAt             // what a worker gave back is not due [R5]
	NoLease             // the leases of others are not seen [S2]
	NoFence             // each claim sees the fence of the first [S6]
	NoEighthCommit      // one commit in eight is answered and not made
	NoDeadLetter        // what is DEAD expires as if it were DONE [L3]
	NoProgress          // each run begins at the first item [S2]
	NoStill             // what seems to have expired is deleted while the clock has just leapt [L3]
	NoSteady            // the clock seems to have leapt long ago [R4, G6]
	NoLeap              // the clock seems never to have leapt [R6]
	ByPosition          // an item is known by where it stood in the result, not by its key [K4]

	// Those of jobs.
	NoFirst      // what is created is created again, over what is there [J1]
	NoWait       // of what may have been created it seems certain that it was not [J2]
	NoIntent     // intents are not kept [J3]
	AllAgain     // all requests of a part are given out again, also those that are done [J4]
	NoCreations  // creations are not counted [J5]
	NoRounds     // each part seems to be of the first round [J5]
	EarlyEnd     // a batch that runs seems to have ended [J6]
	NoSeen       // what a collect has stored is forgotten when it goes on [J7]
	NoEffects    // the effects of a job are not kept [J8]
	ByPlace      // an answer is taken for that to the request in its place [J9]
	NoFenceNamed // the objects of two workers have the same names [J4, J7]
	NoHold       // a job that is held seems not to be [J11]
	NoDeadline   // a deadline seems to be far [J12]
	NoReserved   // what other jobs have reserved is not seen [J10]
	NoPilot      // a job that has a pilot seems to have none [J13]
	NoSpent      // what a job has cost is not seen [J10]
	NoCosts      // what the batches of a job that run will cost is not seen [J10]
	NoIdle       // the batches in Gemini's list seem to be of another model [J10]
	NoHour       // what a batch may hold seems to have been halved long ago [J10]
	NoRedriven   // a job that was redriven seems not to be [J14]
	NoGone       // files that are lost seem to be there [J15]
)

// String names the flaw as a test's name does.
func (f Flaw) String() string {
	return [...]string{
		"sound", "no-condition", "no-delivery", "no-due-at", "no-lease", "no-fence", "no-eighth-commit",
		"no-dead-letter", "no-progress", "no-still", "no-steady", "no-leap", "by-position",
		"no-first", "no-wait", "no-intent", "all-again", "no-creations", "no-rounds", "early-end", "no-seen",
		"no-effects", "by-place", "no-fence-named", "no-hold", "no-deadline", "no-reserved", "no-pilot",
		"no-spent", "no-costs", "no-idle", "no-hour", "no-redriven", "no-gone",
	}[f]
}

// Flaws returns every flaw but those of jobs.
func Flaws() []Flaw {
	return []Flaw{
		NoCondition, NoDelivery, NoDueAt, NoLease, NoFence, NoEighthCommit, NoDeadLetter, NoProgress, NoStill, NoSteady,
		NoLeap, ByPosition,
	}
}

// Rules returns the rules that the flaw breaks. It is found by a violation that names one of them:
// another may be a consequence, or of something else. A lost commit is that of a registration, of a
// delivery or of a look-up.
func (f Flaw) Rules() []string {
	return [...][]string{
		NoCondition: {"M6"}, NoDelivery: {"W4"}, NoDueAt: {"R5"}, NoLease: {"S2"}, NoFence: {"S6"},
		NoEighthCommit: {"L2", "W3", "R3"}, NoDeadLetter: {"L3"}, NoProgress: {"S2"}, NoStill: {"L3"}, NoSteady: {"R4", "G6"},
		NoLeap: {"R6"}, ByPosition: {"S2", "S4"},
		NoFirst: {"J1"}, NoWait: {"J2"}, NoIntent: {"J3"}, AllAgain: {"J4"}, NoCreations: {"J5"}, NoRounds: {"J5"},
		EarlyEnd: {"J6"}, NoSeen: {"J7"}, NoEffects: {"J8"}, ByPlace: {"J9"}, NoFenceNamed: {"J4", "J7"},
		NoHold: {"J11"}, NoDeadline: {"J12"},
		NoReserved: {"J10"}, NoPilot: {"J13"}, NoSpent: {"J10"}, NoCosts: {"J10"}, NoIdle: {"J10"}, NoHour: {"J10"},
		NoRedriven: {"J14"}, NoGone: {"J15"},
	}[f]
}

// holds reports whether a write's precondition holds, as far as the store looks.
func (f Flaw) holds(d *document, w ledger.Write) bool {
	return d.version() == w.Token || f == NoCondition || f == NoFirst && w.Token == "" && ofJob(w.Path)
}

// stores returns what the store keeps of a write, and whether it keeps anything.
func (f Flaw) stores(w ledger.Write, commit int64) (ledger.Write, bool) {
	if e, ok := w.Data.(ledger.Effect); ok && f == NoDueAt && e.State == ledger.EffectPending && e.Fence > 0 {
		e.DueAt = time.Time{}
		w.Data = e
	}
	if e, ok := w.Data.(ledger.Effect); ok && f == NoDeadLetter && e.State == ledger.EffectDead {
		e.ExpireAt = e.DiedAt.Add(time.Hour)
		w.Data = e
	}
	if j, ok := w.Data.(job.Job); ok && f == NoDeadline && !j.Options.Deadline.IsZero() {
		j.Options.Deadline = j.Options.Deadline.Add(-far)
		w.Data = j
	}
	if p, ok := w.Data.(job.Part); ok && f == NoCosts {
		p.Requests, _ = job.Total(p.Sources)
		w.Data = p
	}
	unkept := f == NoDelivery && w.Path.Collection() == ledger.DeliveriesCollection
	unkept = unkept || f.drops(w)
	return w, !unkept && (f != NoEighthCommit || commit%8 != 0)
}

// shows changes what is read into a struct.
func (f Flaw) shows(into any) {
	f.showsOfJob(into)
	e, ok := into.(*ledger.Effect)
	switch {
	case ok && f == NoLease && e.State == ledger.EffectClaimed:
		e.ClaimableAt = time.Time{}
	case ok && f == NoProgress:
		e.Progress = nil
	case ok && f == NoFence:
		e.Fence = min(e.Fence, 1)
	}
}

// finds returns the document that a query finds in the place of another.
func (f Flaw) finds(d *document, documents map[ledger.Path]*document) *document {
	if item, ok := d.data.(ledger.Item); ok && f == ByPosition {
		return cmp.Or(documents[ledger.ItemPath(item.Operation, item.Effect, itemKey(int(item.Index)))], d)
	}
	if p, ok := d.data.(job.Part); ok && f == NoCosts && p.State.Running() {
		p.Requests = 0
		found := *d
		found.body = encoded(p)
		return &found
	}
	return d
}

// tells returns when the clock leapt last, as the store says it.
func (f Flaw) tells(leapt time.Time) time.Time {
	switch {
	case f == NoLeap:
		return time.Time{}
	case f == NoSteady && !leapt.IsZero():
		return time.Unix(0, 0).UTC()
	default:
		return leapt
	}
}

// still reports whether the store deletes nothing, because its clock has just leapt.
func (f Flaw) still(now, leapt time.Time) bool {
	return f != NoStill && !leapt.IsZero() && now.Sub(leapt) < stillFor
}
