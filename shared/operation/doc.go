// Package operation is the domain: what a long-running Gemini operation is called, which state it is in, and whether a
// report about it may change what is known. It is pure: no I/O, no clock, no randomness, no Google import, so every
// decision can be made twice, in any process, with the same answer.
//
// Reports arrive late, twice and out of order. Three properties make that harmless:
//
//   - One name, one [Key]. Every spelling of a resource name ends in the same key [K1], so a webhook, a look-up and a
//     person talk about the same record.
//   - [Reduce] is monotonic. States have ranks and only move up [M1]; the first terminal state wins [M5]; at equal rank
//     only a newer server-side time passes [M4]. A report that Reduce drops once would be dropped for ever after, so
//     dropping it needs no lock.
//   - Reaching a terminal state and finishing the side effects are two axes [L1]: [Record.State] never speaks of effects,
//     [Record.Effects] never of the state.
//
// The numbers in brackets are those of shared/RULES.md.
package operation
