// Package emulator runs the official Firestore and Pub/Sub emulators of an installed Google Cloud
// SDK, for tests and for the local mode.
//
// It starts their jars with java directly. gcloud's own "emulators start" puts a Python and a shell
// process in front of java, and a signal to gcloud leaves java running. Nothing here needs a login,
// a project or the network.
//
// An emulator never outlives the process that started it: [Process.Stop] ends it, and on Linux so
// does the kernel when that process dies, even by SIGKILL. On other systems a parent that is killed
// leaves its emulators behind.
//
// The emulators differ from production: queries work without indexes, TTL deletes nothing, there is
// no access control, and a transaction waits at most two seconds for a lock.
package emulator
