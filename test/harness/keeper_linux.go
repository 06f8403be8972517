package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The packages of one `go test` share emulators: each start takes seconds of processor time. The
// first test binary that needs one starts a keeper, which is the binary once more. The keeper starts
// the emulator, answers each connection to a socket, named after the go command's process, with its
// address, and ends the emulator when that process has ended, however it did.

// envKeep in the environment makes a test binary the keeper of the emulator of that name, for as long
// as the process runs whose id is envKeepFor.
const envKeep, envKeepFor = "TEST_EMULATOR_KEEPER", "TEST_EMULATOR_KEEPER_FOR"

// goCommand returns the process id of the go command that runs this test; 0 if nothing of that
// name does, as where a debugger or a shell runs the binary.
func goCommand() int {
	parent := os.Getppid()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", parent))
	if err != nil || filepath.Base(path) != "go" {
		return 0
	}
	return parent
}

// socket is where the keeper listens for those whom a process has started. The name is not that of a
// file: it is gone with the keeper. It is that of a network namespace, which containers may share, and
// the process's id that of a PID namespace: so the name has both.
func (s *shared) socket(command int) string {
	ids, _ := os.Readlink("/proc/self/ns/pid") // goCommand has read in /proc before
	return fmt.Sprintf("@opledger-test-%s-%s-%d", s.name, ids, command)
}

// kept returns the address of the emulator that all packages share; empty if they share none, or if it
// cannot be started: the caller then tries by itself, and learns why.
func (s *shared) kept() string {
	command := goCommand()
	if command == 0 {
		return ""
	}
	for range 2 { // a keeper that could not start its emulator may be ending: try once more
		conn, err := net.Dial("unix", s.socket(command))
		if err == nil {
			addr, err := io.ReadAll(conn)
			if err = errors.Join(err, conn.Close()); err == nil {
				return string(addr)
			}
		}
		if startKeeper(s.name, command) != nil {
			break
		}
	}
	return ""
}

// startKeeper starts a keeper, and returns when it, or one that another package has started meanwhile,
// listens.
func startKeeper(name string, command int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	keeper := exec.Command(self)
	keeper.Env = append(os.Environ(), envKeep+"="+name, envKeepFor+"="+strconv.Itoa(command))
	keeper.Dir = "/"
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C ends the tests first
	listens, err := keeper.StdoutPipe()
	if err != nil {
		return err
	}
	if err := keeper.Start(); err != nil {
		return err
	}
	_, err = io.ReadAll(listens)
	return errors.Join(err, listens.Close(), keeper.Process.Release())
}

// keep is the life of a keeper. It returns the code to exit with.
func (s *shared) keep() int {
	if err := s.keepFor(os.Getenv(envKeepFor)); err != nil {
		return 1 // its parent reads no output, and starts an emulator itself
	}
	return 0
}

func (s *shared) keepFor(process string) error {
	command, err := strconv.Atoi(process)
	if err != nil {
		return err
	}
	lives, err := unix.PidfdOpen(command, 0)
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", s.socket(command))
	if err != nil {
		return err // another keeper listens
	}
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	started, err := s.start(context.Background())
	if err != nil {
		return err
	}
	defer started.Stop()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, started.Addr())
			_ = conn.Close()
		}
	}()
	ended := []unix.PollFd{{Fd: int32(lives), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(ended, -1); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
