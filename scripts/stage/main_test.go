package main

import (
	"os"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory() // three thousand files are staged: to make them on a disk is most of the time
	os.Exit(m.Run())
}
