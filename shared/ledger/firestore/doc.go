// Package firestore is the deployed store: the ledger's documents in a Firestore database in native
// mode, readable in its console [G4].
//
// A ledger.Path is the document's path from the root of the database. A token is the document's
// update time.
//
// # Requests
//
//	Get     one BatchGetDocuments; every document costs a read, missing ones too
//	Commit  one Commit
//	Query   one RunQuery; an empty page takes two more requests, see Query
//
// A commit is one request outside any transaction: Firestore makes its writes all or none. Each
// carries a precondition: Create, or the update time that was read. Reads inside a transaction
// would take locks that all readers share and none can upgrade; of fifty concurrent commits to one
// operation most would then be aborted.
//
// # Commits without an answer
//
// The client repeats a Commit that was answered UNAVAILABLE. If the first one succeeded and only
// its answer was lost, the second fails on the first one's writes, exactly as on another call's. So
// the store counts, below the client, how often a commit was sent. A precondition that does not
// hold is ledger.ErrConflict where it was sent once, and ledger.ErrUnavailable where it was sent
// again: read again. It must not be ledger.ErrConflict, which would mean that nothing was written.
// No repetition writes twice: no precondition holds a second time.
//
// INVALID_ARGUMENT is ledger.ErrInvalid, which gives the event up, unless the text is about a
// transaction, such as the one that Firestore makes of the commit: that is ledger.ErrUnavailable.
// One that is too big is recognized by its whole text: ledger.ErrTooBig.
//
// # Versions
//
// Firestore ignores a write that changes no field: the update time, and so the token, stays. So a
// document whose struct has a field "version" must increment it with every write, as the ledger
// does in all documents that it writes more than once. In other documents that are written again
// the store counts itself, in a field "_revision".
package firestore
