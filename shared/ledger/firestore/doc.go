// Package firestore is the deployed store: the ledger's documents in a Firestore database in native
// mode, readable in its console [G4].
//
// A ledger.Path is the document's path from the root of the database. A token is the document's
// update time.
//
// # Requests
//
//	Get     one BatchGetDocuments; every document costs a read, missing ones too
//	Commit  BeginTransaction and Commit; a Rollback after a refusal
//	Query   one RunQuery; an empty page takes two more requests, see Query
//
// A commit is a transaction that reads nothing. Each of its writes carries a precondition: Create,
// or the update time that was read. Reads inside the transaction would take locks that all readers
// share and none can upgrade; of fifty concurrent commits to one operation most would then be
// aborted.
//
// # Commits without an answer
//
// The client repeats a Commit that was answered UNAVAILABLE, under the same transaction. If the
// first one succeeded and only its answer was lost, Firestore refuses the second because the
// transaction is over. Its code is INVALID_ARGUMENT, as for a document that is too large. Commit
// tells the two apart. The former is ledger.ErrUnavailable: read again. It must not be
// ledger.ErrInvalid, which would give the event up, nor ledger.ErrConflict, which would mean that
// nothing was written. A transaction that is too big is recognized by its whole text:
// ledger.ErrTooBig.
//
// # Versions
//
// Firestore ignores a write that changes no field: the update time, and so the token, stays. So a
// document whose struct has a field "version" must increment it with every write, as the ledger
// does in all documents that it writes more than once. In other documents that are written again
// the store counts itself, in a field "_revision".
package firestore
