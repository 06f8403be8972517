// Package operation is the domain: the names and states of long-running Gemini operations, and
// whether a report about one may change its record. It is pure: no I/O, no clock, no randomness and
// no Google import. So every decision can be repeated, in any process, with the same result.
//
// Reports arrive late, twice and out of order. Three properties make that harmless:
//
//   - One name, one [Key]. Every spelling of a resource name has the same key [K1], so that a delivery,
//     a look-up and an operator mean the same record.
//   - [Reduce] is monotonic. States have ranks and only move up [M1]. The first terminal state wins
//     [M5]. At equal rank only a newer server-side time passes [M4]. An event that Reduce drops once
//     would always be dropped later, so that dropping it needs no lock.
//   - The terminal state and the side effects are two axes [L1]: [Record.State] says nothing about
//     effects, and [Record.Effects] nothing about the state.
//
// The numbers in brackets are those of shared/RULES.md.
package operation
