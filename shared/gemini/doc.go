// Package gemini is what Gemini sends: signed webhooks. The rest of the program speaks
// [operation.Event] and nothing else. It keeps no state, runs nothing in the background and reads
// no clock. What Gemini answers when it is asked is in the package lookup under it, so that the
// function that receives does not link the SDK.
//
// It has three rooms.
//
//   - Signatures. A [Verifier] decides over the raw body, before anything is parsed, whether a
//     delivery comes from a holder of the webhook's secret [W1]. Whether it is fresh [W2] is the
//     gate's to decide, in package trust.
//   - Events. [DecodeEvent] makes an event of a verified body. The documentation of the body has
//     changed and contradicts itself, so decoding requires nothing it need not: a known type and a
//     name, each found wherever the sources put it [K3]. What it cannot read it says in one of two
//     typed errors, because the two are treated differently [W6]: [UnknownTypeError] (a kind of
//     event that this revision does not know) and [MalformedError] (a body that nobody can read).
//     Both are answered 200: no repetition would make them better.
//   - Correlation. [CorrelationOf] finds the submitter's own id wherever the user metadata stands
//     in what was sent [K6], and a batch carries the id in its display name, [DisplayName], where
//     listing gives it back to [CorrelationIn] [G6].
//
// Both paths end in the same operation.Event and go through the same door [M7]. The reducer there
// does not care which came first.
//
// A signing secret is never part of an error, a log line or a printed value.
//
// The numbers in brackets are those of shared/RULES.md.
package gemini
