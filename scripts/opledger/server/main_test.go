package server

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(8) // they wait for the disk, and for proxies
	harness.SpendMemory()
	// A server that reads Secret Manager is made for a process's whole life.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}
