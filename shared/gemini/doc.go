// Package gemini is Gemini's wire: everything this program knows about what Gemini sends and how it answers. The rest of
// the program speaks [operation.Event] and nothing else. It keeps no state, runs nothing in the background and reads no
// clock.
//
// It has three rooms.
//
//   - Signatures. A [Verifier] decides over the raw body, before anything is parsed, whether a delivery comes from
//     somebody who holds the webhook's secret [W1], and whether it is fresh [W2].
//   - Events. [DecodeEvent] makes an event of a verified body. The documentation of the body has changed and contradicts
//     itself, so decoding requires nothing it need not: a known type and a name, each found wherever the sources put it
//     [K3]. What it cannot read it says in one of two typed errors, because the two are treated differently [W6]:
//     [UnknownTypeError] (a kind of event that this revision does not know) and [MalformedError] (a body that nobody can
//     read). Both are answered 200: no repetition would make them better.
//   - Look-ups. [Client.Lookup] asks Gemini and returns an [Answer], which is either known, with a state, or not known,
//     with a countable reason. Everything that is not a clear word of Gemini about this operation (no state, a new word,
//     404, 5xx, HTML, an error body under a 200) is not known; only a known terminal state ends an operation.
//
// Both paths end in the same operation.Event and go through the same door [M7]. The reducer there does not care which
// came first.
//
// Neither a signing secret nor the API key is ever part of an error, a log line or a printed value.
//
// The numbers in brackets are those of shared/RULES.md.
package gemini
