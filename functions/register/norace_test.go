//go:build !race

package register_test

// mostMemory is how many times its bytes the decoding of a body takes.
const mostMemory = 4
