// Package console shows a ledger in a browser, on this machine alone.
//
// # Pages
//
// Every page is one row in the table of pages: a path, a template, and a function that reads what the
// template shows. Pages are addressed by queries, never by segments, so that a page's address is also
// its key. The address of one operation is /console/operation?key=batches/abc.
//
// A job is an operation, and so has its page. Beside its record that shows the job and its parts: all of
// them, or of a job that has many the first that are open. Its numbers come of the same read. The list of
// jobs reads of each its plan and its first open part. Why a job goes no further, what follows and what to
// do are one [phrase.Standing].
//
// # Live updates
//
// A browser opens the address of its page once more, for a stream of events. The page is then read
// again every Options.Every, once for all its watchers, and its main part is sent where it has
// changed; else an event says that it has not. A page that hears nothing for Options.Silence is as stale as one
// that has lost its connection: nothing in it may stand as if it were true now. Without a watcher nothing is
// read. A hidden tab has no stream, and neither has a list of one job kind, which may cost thousands of reads.
//
// # What a page may do
//
// The console reads through a [ledger.Reading], from which nothing leads to what can write. Its content
// security policy allows this origin's own files and nothing else: no inline script, no inline style,
// no other host. html/template escapes every text. Who may reach it is the business of the server that
// it stands behind [G7].
//
// # Actions
//
// With Options.Actions the page of an operation, a job's part, an effect, a quarantined delivery or the effects of a
// receiver offers what can be done. What the ledger refuses while a job needs it is not offered. Every action is
// one row in the table of actions. It is a question first: a page with a form that says what will happen.
// The form's POST is answered with what became of it:
//
//   - A form has a number of its own. One that comes twice, as by a double click, is acted on once, and
//     has the first answer.
//   - A form says what the question was about: "DEAD, after 3 claims". If that has changed since,
//     nothing is done, and the answer says how it was and is.
//   - What is done to many effects goes on when the browser leaves. Its page shows how far it is; only this
//     process knows it.
//   - A race that is left is the ledger's, which does none of these things twice [G5].
package console
