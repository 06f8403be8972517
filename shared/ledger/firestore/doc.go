// Package firestore is the deployed store: the ledger's documents in a Firestore database in native mode, as a person sees
// them in its console [G4].
//
// A ledger.Path is the document's path from the root of the database, collection and id in turn. A token is the document's
// update time.
//
// # Requests
//
//	Get     one BatchGetDocuments, of which every document counts as a read, missing ones too
//	Commit  BeginTransaction and Commit; a Rollback after a refusal
//	Query   one RunQuery; an empty page takes two requests more, see Query
//
// A commit is a transaction that reads nothing: each of its writes carries a precondition, Create or the update time that was
// read. Reading inside the transaction would do the same with locks that all readers share and none can upgrade; fifty callers
// settling one operation then wait for each other until most of them are aborted.
//
// # What is not known
//
// The client repeats a Commit that was answered UNAVAILABLE, under the same transaction. If the first one was made and only
// its answer was lost, Firestore refuses the second because the transaction is over, with INVALID_ARGUMENT, the code that it
// also has for a document which is too large. Commit tells them apart: the former is ledger.ErrUnavailable, "read again and
// see", and never ledger.ErrInvalid, which would give the event up, nor ledger.ErrConflict, which says that nothing was
// written. A transaction that is too big is told by its whole text: ledger.ErrTooBig.
//
// # Versions
//
// To Firestore a write that leaves every field as it was is none: the update time stays, and the old token stays good. So a
// document whose struct has a field "version" must count in it with every write, as the ledger does in all that it writes more
// than once. In any other document that is written again the store itself counts, in a field "_revision".
package firestore
