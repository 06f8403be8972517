// Package storagesim simulates Cloud Storage's JSON API as far as objects are created and their metadata is read: the real client
// talks to it over HTTP on a port of loopback. It fails requests as a test says.
//
// It is written from what Google documents. An upload is one request (multipart), or a session whose chunks are multiples of
// 256 KiB but for the last; a chunk that was received before is passed over where it overlaps, and a session that is complete
// answers with its object. An object is there only when its last byte is; the generation precondition is checked at the
// beginning and at the end; content that does not fit a checksum that came with it is a 400 and makes no object. Whoever may not
// delete is refused with 403, not 412, where an object is there.
package storagesim
