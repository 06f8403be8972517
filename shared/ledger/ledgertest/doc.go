// Package ledgertest is the conformance suite that every store of the ledger must pass, and the
// tools that inject faults and races into one.
//
// [Run] is the suite. It has two parts: what ledger.Store promises, and the ledger's protocol on
// top of the store, every race by name. A store is conformant when the whole suite passes. The
// ledger itself is written once and tested here, on every store, rather than against a fake. [RunSample]
// is for a store that is slow: it leaves out cases that make no call of another kind than the rest, as
// testdata/repeats.txt names them and [RunAndRecord] checks. [RunFew] also leaves out one of each two cases that make
// the same calls.
//
// No race depends on timing, and no test waits for time to pass:
//
//   - [Skewed] moves the store's clock: leases and back-offs end when the test says so.
//   - [PausePoint] stops one caller between its read and its commit, for as long as the test wants.
//   - [Faulty] makes commits fail: before they happen, after they happened, or as lost races.
//   - [Counting] counts the calls of a store.
//   - [Checked] checks every write for what must hold of every document.
//
// All of them are stores around a store, and can be nested. The numbers in brackets are those of
// shared/RULES.md.
package ledgertest
