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

// A usage is what a process takes of its machine.
type usage struct {
	goroutines, threads int
	rss                 int // KiB
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d threads, %d MiB", u.goroutines, u.threads, u.rss>>10)
}

// counted takes a line of a program of the soak's that says how many goroutines it has.
func (p *process) counted(line string) bool {
	text, ok := strings.CutPrefix(line, "goroutines ")
	n, err := strconv.Atoi(text)
	if ok = ok && err == nil; ok {
		p.goroutines <- n
	}
	return ok
}

// usage asks a process what it takes.
func (p *process) usage() (u usage, err error) {
	if err := p.command.Process.Signal(syscall.SIGUSR1); err != nil {
		return u, fmt.Errorf("asking %s for its goroutines: %w", p.id, err)
	}
	select {
	case u.goroutines = <-p.goroutines:
	case <-p.done:
		return u, fmt.Errorf("%s has ended", p.id)
	case <-time.After(patience):
		return u, fmt.Errorf("%s does not say how many goroutines it has", p.id)
	}
	if runtime.GOOS != "linux" {
		return u, nil // there the goroutines alone are compared
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	for line := range strings.Lines(string(status)) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "VmRSS:":
			u.rss, err = strconv.Atoi(fields[1])
		case fields[0] == "Threads:":
			u.threads, err = strconv.Atoi(fields[1])
		}
	}
	return u, err
}

// usages returns what the processes take that are never killed.
func (s *soak) usages() map[string]usage {
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
	return all
}

// flat checks that the processes which lived all the time take no more than when they had just done
// their first work. What they did last may take a while to be put away.
func (s *soak) flat(first map[string]usage) (last map[string]usage) {
	s.t.Helper()
	s.within(patience, "no process has more goroutines than at first", func() bool {
		last = s.usages()
		for name, u := range last {
			if u.goroutines > first[name].goroutines+first[name].goroutines/4+10 {
				return false
			}
		}
		return true
	})
	for name, u := range last {
		if most := 2*first[name].rss + 64<<10; u.rss > most {
			s.t.Errorf("%s has %d MiB, had %d", name, u.rss>>10, first[name].rss>>10)
		}
	}
	return last
}
