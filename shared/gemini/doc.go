// Package gemini reads what Gemini sends: signed webhooks. It makes an [operation.Event] of a
// delivery; the rest of the program knows nothing of Gemini's format. It keeps no state, starts no
// goroutine and reads no clock.
//
//   - Signatures. A [Verifier] checks the raw body, before it is parsed, against the webhook's
//     secrets [W1]. Package trust checks the timestamp [W2].
//   - Events. [DecodeEvent] decodes a verified body. Google's documentation of the body has changed
//     and contradicts itself, so decoding requires only a known type and a name, each in any of the
//     documented places [K3]. Two typed errors say why a body cannot be decoded [W6]:
//     [UnknownTypeError] (a type that this revision does not know) and [MalformedError] (anything
//     else). Both deliveries are answered 200, because a redelivery would fail in the same way.
//   - Correlation. [CorrelationOf] finds the submitter's own id wherever the user metadata is in an
//     event [K6]. A batch carries the id in its display name: [DisplayName] writes it, and
//     [CorrelationIn] reads it from a listing [G6].
//
// No error, log line or printed value holds a signing secret.
//
// The numbers in brackets are those of shared/RULES.md.
package gemini
