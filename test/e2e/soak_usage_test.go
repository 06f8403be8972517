package e2e

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A usage is what a process takes of its machine when it has given back what it can.
type usage struct {
	goroutines     int // without those of clients
	clients        int // goroutines of the clients of Firestore and Pub/Sub
	connections    int // goroutines of their connections
	threads, files int
	heap, resident int // KiB
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d of clients, %d of connections, %d threads, %d files, heap %d KiB, "+
		"resident %d MiB", u.goroutines, u.clients, u.connections, u.threads, u.files, u.heap, u.resident>>10)
}

// counted takes a line of a program of the soak's that says what it takes.
func (p *process) counted(line string) bool {
	var u usage
	n, err := fmt.Sscanf(line, "usage %d %d %d %d", &u.goroutines, &u.clients, &u.connections, &u.heap)
	if err != nil || n != 4 {
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

// measure returns what the processes take, at rest, that are never killed.
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
	return all
}

// flat checks that the processes which lived all the time take no more after the second half than
// after the first, in which all was met that the second met. What is lost with each request or each
// trouble shows. What they did last may take a while to be put away. A client has most of its
// goroutines from its first use on, and those of its connection when it needs one: both may have
// been missing half-way, so all that two clients can have is allowed, and what one takes of the
// heap where it is new.
func (s *soak) flat(half map[string]usage) (last map[string]usage) {
	s.t.Helper()
	const (
		clients = 9   // goroutines: 6 of Firestore's client, 3 of Pub/Sub's; as many of connections at most
		client  = 512 // KiB of the heap: 300 were seen of one and its connection
	)
	defer func() {
		if s.t.Failed() {
			s.t.Logf("half-way the processes took %v, in the end %v", half, last)
		}
	}()
	s.within(patience, "no process takes more goroutines and memory than after the first half", func() bool {
		last = s.measure()
		for name, u := range last {
			most := half[name]
			heap := most.heap + most.heap/16
			if u.clients > most.clients || u.connections > most.connections {
				heap += client
			}
			if u.goroutines > most.goroutines || max(u.clients, u.connections) > clients || u.heap > heap {
				return false
			}
		}
		return true
	})
	for name, u := range last {
		// The runtime ends no thread, and a pool of connections, with their caches, fills by chance.
		most := half[name]
		if u.threads > 2*most.threads || u.files > 2*most.files || u.resident > most.resident+most.resident/2 {
			s.t.Errorf("%s takes %v in the end, and took %v after the first half", name, u, most)
		}
	}
	return last
}

// grown says what the processes took that lived all the time.
func grown(first, half, last map[string]usage) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(last)) {
		fmt.Fprintf(&text, "%s: at first %v; half-way %v; at last %v\n", name, first[name], half[name], last[name])
	}
	return text.String()
}
