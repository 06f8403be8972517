//go:build !race

package e2e

// raceEnabled: the binary is built with the race detector where the test is.
const raceEnabled = false
