package job

import (
	"cmp"

	"github.com/opledger/opledger/shared/operation"
)

// Allowed is what Gemini takes of one model at once, in tokens of the input, as far as that is known. A zero field
// is no limit.
type Allowed struct {
	// Quota is how many tokens all batches of the model may have together that have not ended.
	Quota int64
	// PerBatch is how many one batch may have: Gemini refused a larger one, while it had no other.
	PerBatch int64
}

// Room is what other jobs leave to one.
type Room struct {
	Allowed
	Batches int   // how many batches of the job may run at once
	Taken   int64 // how many tokens of the Quota the batches of other jobs have reserved
}

// A Place is a part that counts as a batch that runs, with the tokens that it has reserved.
type Place struct {
	Key    operation.Key
	Tokens int64
}

// A Want is what a job lacks to start its next batch.
type Want struct {
	For    Wait  // [WaitsForBatch] or [WaitsForTokens]; empty: it lacks nothing, or nothing that others may leave it
	Tokens int64 // of that batch
}

// Tokens estimates the tokens of so many bytes of the job's input: their share of what its submitter estimated for all
// of it, and one for four bytes where it gave no estimate. That is wrong where a few requests have most of the tokens,
// as with files; the quota is Gemini's to enforce, and a batch that it refuses is tried again.
func (j Job) Tokens(bytes int64) int64 { return max(1, int64(float64(bytes)*j.tokensPerByte())) }

func (j Job) tokensPerByte() float64 {
	if j.Input.Tokens <= 0 || j.Input.Bytes <= 0 {
		return 1.0 / bytesPerToken
	}
	return min(float64(j.Input.Tokens)/float64(j.Input.Bytes), mostTokensPerByte)
}

const (
	// mostTokensPerByte bounds an estimate: one line may name a file of many tokens.
	mostTokensPerByte = 1000
	// inFlight is how many batches share a model's quota at least. While one of them ends and the next is uploaded, the
	// others use theirs.
	inFlight = 10
	// mostForTokens bounds the parts that the whole input is cut into for that, far from [MostParts].
	mostForTokens = 2000
	// leastRequests is how many requests a batch may have however often it is refused while Gemini has no other.
	leastRequests = 100
)

// perBatch is how many tokens a batch of the job is cut to; 0: any number.
func (j Job) perBatch(a Allowed) int64 {
	if a.Quota == 0 {
		return a.PerBatch
	}
	share := min(a.Quota, max(1, a.Quota/inFlight, j.Tokens(j.Input.Bytes)/mostForTokens))
	return min(share, cmp.Or(a.PerBatch, share))
}

// Within returns the job's options with the bytes of a batch that its tokens allow: the requests are cut by it.
func (j Job) Within(a Allowed) Options {
	o := j.Options.WithDefaults()
	if most := j.perBatch(a); most > 0 {
		o.MaxBytesPerBatch = max(1, min(o.MaxBytesPerBatch, int64(float64(most)/j.tokensPerByte())))
	}
	return o
}

// PiecesOf returns into how many pieces a part is split that is larger than it may be, from 2 to most.
func (j Job) PiecesOf(p Part, a Allowed, most int64) int64 {
	per := max(1, j.perBatch(a))
	return min(max(2, (j.Tokens(p.Bytes)+per-1)/per), most)
}

// Halve returns what a batch of the model may hold once Gemini has refused this part's though it had no other:
// half, and at least a hundred requests. ok: the part has more.
func (j Job) Halve(p Part) (tokens int64, ok bool) {
	if !j.divisible(p, leastRequests) {
		return 0, false
	}
	all := j.Tokens(p.Bytes)
	return max(all/2, all/p.Requests*leastRequests, 1), true
}

// Exceeds reports whether a part is larger than a batch may be, and can be split.
func (j Job) Exceeds(p Part, a Allowed) bool {
	tokens := j.Tokens(p.Bytes)
	return a.Quota > 0 && tokens > a.Quota && j.divisible(p, 1) ||
		a.PerBatch > 0 && tokens > a.PerBatch && j.divisible(p, leastRequests)
}

// divisible reports whether a part of more than so many requests may be split.
func (j Job) divisible(p Part, least int64) bool {
	return p.Requests > least && j.Parts+mostPieces <= MostParts
}

// reserves returns the tokens that a part reserves. One that alone is above the quota, and cannot be split, takes all
// of it: Gemini decides. One that is split sends nothing.
func (n *next) reserves(p Part) int64 {
	if p.TooLarge {
		return 0
	}
	tokens := n.Job.Tokens(p.Bytes)
	return min(tokens, cmp.Or(n.room.Quota, tokens))
}

// running returns the parts that count as batches that run.
func (n *next) running() []Place {
	var places []Place
	for _, p := range n.open {
		if p.State.Running() && !p.SetAside() {
			places = append(places, Place{Key: p.Key, Tokens: n.reserves(p)})
		}
	}
	return places
}

// lacks returns what a part lacks to be started.
func (n *next) lacks(p Part) Want {
	w := Want{Tokens: n.reserves(p)}
	places, taken := n.running(), n.room.Taken+w.Tokens
	for _, place := range places {
		taken += place.Tokens
	}
	switch {
	case len(places) >= n.room.Batches:
		w.For = WaitsForBatch
	case n.room.Quota > 0 && w.Tokens > 0 && taken > n.room.Quota:
		w.For = WaitsForTokens
	}
	return w
}
