// Package secretsim simulates Google Secret Manager for the real client, over gRPC on a loopback
// port. It keeps secrets and versions in memory, counts calls, and injects faults.
//
// It follows Google's documentation. Versions are listed newest first and in pages, with the
// project's number in their names. latest is the last version in any state. Reading a version that
// is not enabled is FAILED_PRECONDITION. For a secret that does not exist TestIamPermissions grants
// nothing.
package secretsim
