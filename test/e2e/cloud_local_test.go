package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// emulatorsOf returns the pids of a process's children that are emulators.
func emulatorsOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		// PID (NAME) STATE PPID …, and a name may hold anything
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(string(command), "-emulator") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// runs reports whether a process is more than a zombie that no process has waited for.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// TestCloudLocalKilled: `opledger local --store firestore` leaves no emulator behind, also where it
// is killed before it has started both.
func TestCloudLocalKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		harness.Missing(t, "only Linux ties a child's life to its parent's")
	}
	harness.Firestore(t)
	harness.PubSub(t)
	moments := []int{2}
	if harness.Thorough(t) { // two emulators start, and end, for each
		moments = []int{1, 2}
	}
	for _, emulators := range moments {
		t.Run(fmt.Sprintf("with %d", emulators), func(t *testing.T) {
			t.Parallel()
			command := exec.Command(binary(t), "local", "--store", "firestore", "--keep")
			command.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			var stderr bytes.Buffer
			command.Stderr = &stderr
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = command.Wait() // that it was killed is what this is about
			}()
			t.Cleanup(func() {
				_ = command.Process.Kill() // where the test ended early
				<-done
			})
			var pids []int
			eventually(t, "the emulators run", func() bool {
				select {
				case <-done:
					t.Fatalf("it ended by itself: %s", &stderr)
				default:
				}
				pids = emulatorsOf(t, command.Process.Pid)
				return len(pids) >= emulators
			})
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-done
			eventually(t, fmt.Sprintf("the emulators %v are gone", pids), func() bool {
				for _, pid := range pids {
					if runs(pid) {
						return false
					}
				}
				return true
			})
		})
	}
}

// TestCloudLocalWithoutEmulators: where they are not installed it says in one line what is missing
// and how to get it, prints nothing else, and fails.
func TestCloudLocalWithoutEmulators(t *testing.T) {
	t.Parallel()
	r := opledger(t, []string{"PATH=" + t.TempDir()}, "local", "--store", "firestore", "--json").want(t, 1)
	if r.out != "" || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	for _, want := range []string{
		"java is not installed", "gcloud is not installed", "https://cloud.google.com/sdk/docs/install",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr %q does not say %q", r.err, want)
		}
	}
}
