package harness

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger/emulator"
)

// envRole makes this test binary the go command, which starts two packages and waits to be killed, or
// one of the packages.
const envRole = "OPLEDGER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "go":
		for range 2 {
			tests := exec.Command(os.Args[1])
			tests.Env, tests.Stdout = append(os.Environ(), envRole+"=package"), os.Stdout
			if err := tests.Start(); err != nil {
				panic(err)
			}
		}
		select {}
	case "package":
		if os.Getenv(envKeep) != "" {
			os.Exit(Main(m))
		}
		fmt.Println(pubsub.kept())
		return
	}
	os.Exit(Main(m))
}

// TestKeeper: what one go command runs at the same time shares an emulator, which ends when the command
// is killed.
func TestKeeper(t *testing.T) {
	t.Parallel()
	if _, err := emulator.Find(); err != nil {
		Missing(t, err.Error())
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "go")
	if err := os.Link(self, name); err != nil {
		content, readErr := os.ReadFile(self)
		if readErr != nil {
			t.Fatal(err, readErr)
		}
		if err := os.WriteFile(name, content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(name, self)
	command.Env = append(os.Environ(), envRole+"=go")
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	var addrs [2]string
	lines := bufio.NewReader(said)
	for i := range addrs {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		addrs[i] = strings.TrimSpace(line)
	}
	listens := func() bool {
		conn, err := net.DialTimeout("tcp", addrs[0], time.Second)
		return err == nil && conn.Close() == nil
	}
	if addrs[0] != addrs[1] || !listens() {
		t.Fatalf("the packages have %q", addrs)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // the error that it was killed
	for deadline := time.Now().Add(2 * time.Minute); listens(); {
		if time.Now().After(deadline) {
			t.Fatal("the emulator lives on")
		}
		time.Sleep(20 * time.Millisecond) // its end is that of a process that is not our child
	}
}
