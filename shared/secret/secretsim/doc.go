// Package secretsim simulates Google Secret Manager: the real client talks to it over gRPC on a
// port of loopback. It keeps secrets with their versions in memory, counts the calls, and fails
// them as a test says.
//
// It is written from what Google documents: versions are listed newest first and in pages, with the
// project's number in their names; latest is the last version, whatever its state, and reading a
// version that is not enabled is FAILED_PRECONDITION; of a secret that is not there
// TestIamPermissions grants nothing.
package secretsim
