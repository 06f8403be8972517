// Package storagesim simulates Cloud Storage's JSON API as far as objects are created, composed, read,
// listed and deleted. The real client uses it over HTTP on a port of loopback. It injects faults into
// requests for tests.
//
// It follows Google's documentation. An upload is one request (multipart), or a session whose
// chunks are multiples of 256 KiB except the last. A chunk that overlaps one received before is
// skipped as far as it does, and a session that is complete answers with its object. An object is
// visible only with its last byte. The generation precondition is checked at the beginning and at
// the end. Content that does not match the checksum sent with it is a 400 and makes no object. A
// caller without the permission to delete gets 403, not 412, if an object exists.
//
// Of 1 to 32 objects another is composed, under the same precondition. A download may be a range. A
// list has pages, by name, and lacks no object. There is no limit of updates a second, there are no
// former versions, and nothing is deleted by lifecycle.
package storagesim
