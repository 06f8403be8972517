//go:build race

package register_test

// mostMemory is how many times its bytes the decoding of a body takes: the race detector adds one.
const mostMemory = 5
