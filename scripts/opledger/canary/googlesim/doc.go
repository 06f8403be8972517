// Package googlesim simulates what the canary uses of Cloud Logging and Cloud Scheduler: the
// search of entries, by the terms that it writes, and the reading and running of a job.
//
// The log is what the processes of a test write: Output takes a function's own lines, and Request
// the platform's line about a request. A term that the simulator does not know is refused, so that
// a filter with a mistake finds nothing here either.
package googlesim
