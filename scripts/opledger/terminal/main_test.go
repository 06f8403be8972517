package terminal_test

import (
	"os"
	"testing"

	"github.com/opledger/opledger/test/commandtest"
)

func TestMain(m *testing.M) { os.Exit(commandtest.Main(m)) }
