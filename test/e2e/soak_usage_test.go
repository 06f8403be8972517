package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A usage is what a process takes of its machine when it has given back what it can.
type usage struct {
	goroutines, threads, files int
	heap, resident             int // KiB
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d threads, %d files, heap %d KiB, resident %d MiB", u.goroutines, u.threads,
		u.files, u.heap, u.resident>>10)
}

// atMost returns the larger of each.
func (u usage) atMost(v usage) usage {
	return usage{
		goroutines: max(u.goroutines, v.goroutines), threads: max(u.threads, v.threads), files: max(u.files, v.files),
		heap: max(u.heap, v.heap), resident: max(u.resident, v.resident),
	}
}

// counted takes a line of a program of the soak's that says what it takes.
func (p *process) counted(line string) bool {
	var u usage
	n, err := fmt.Sscanf(line, "usage %d %d", &u.goroutines, &u.heap)
	if err != nil || n != 2 {
		return false
	}
	u.heap >>= 10
	p.usages <- u
	return true
}

// usage asks a process what it takes.
func (p *process) usage() (u usage, err error) {
	if err := p.command.Process.Signal(syscall.SIGUSR1); err != nil {
		return u, fmt.Errorf("asking %s what it takes: %w", p.id, err)
	}
	select {
	case u = <-p.usages:
	case <-p.done:
		return u, fmt.Errorf("%s has ended", p.id)
	case <-time.After(patience):
		return u, fmt.Errorf("%s does not say what it takes", p.id)
	}
	if runtime.GOOS != "linux" {
		return u, nil // elsewhere what the program itself knows is compared
	}
	proc := fmt.Sprintf("/proc/%d/", p.command.Process.Pid)
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		return u, err
	}
	u.files = len(files)
	status, err := os.ReadFile(proc + "status")
	for line := range strings.Lines(string(status)) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "VmRSS:":
			u.resident, err = strconv.Atoi(fields[1])
		case fields[0] == "Threads:":
			u.threads, err = strconv.Atoi(fields[1])
		}
	}
	return u, err
}

// measure asks the processes that are never killed what they take, and keeps it.
func (s *soak) measure() map[string]usage {
	s.t.Helper()
	all := map[string]usage{}
	for _, i := range s.instances {
		if !i.spared {
			continue
		}
		u, err := i.process().usage()
		if err != nil {
			s.t.Fatal(err)
		}
		all[i.name] = u
	}
	s.measured = append(s.measured, all)
	return all
}

// flat checks that the processes which lived all the time take no more in the end, at rest, than
// they took at most in the first half, under load. So what is lost with each request or each trouble
// shows, however little it is.
func (s *soak) flat() {
	s.t.Helper()
	s.first = map[string]usage{}
	for _, all := range s.measured[:len(s.measured)/2+1] {
		for name, u := range all {
			s.first[name] = u.atMost(s.first[name])
		}
	}
	s.within(patience, "no process takes more than in the first half", func() bool {
		s.last = s.measure()
		for name, u := range s.last {
			if most := s.first[name]; u.goroutines > most.goroutines || u.files > most.files || u.heap > most.heap {
				return false
			}
		}
		return true
	})
	for name, u := range s.last {
		// The runtime ends no thread: how many there are depends on chance, and one that is lost has a
		// goroutine, too. Some memory it cannot give back.
		most := s.first[name]
		if u.threads > 2*most.threads || u.resident > most.resident+most.resident/8 {
			s.t.Errorf("%s takes %v in the end, and took in the first half at most %v", name, u, most)
		}
	}
}
