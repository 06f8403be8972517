package e2e

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// leave tells a process to end. It must exit with 0, unless it is killed meanwhile.
func (p *process) leave() {
	p.mu.Lock()
	p.leaving = true
	p.mu.Unlock()
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may be dead
}

func (p *process) isLeaving() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaving
}

// leftGently reports whether a process ended because it was told to, and well.
func (p *process) leftGently() bool {
	return p.isLeaving() && p.endedWell()
}

// endedWell reports whether a process that got SIGTERM ended as it should. One that does not serve
// yet may not have come to where it waits for the signal, and has nothing to end.
func (p *process) endedWell() bool { return p.err == nil || p.url() == "" }

// toldAtStart reports whether a line says that the process got SIGTERM before it served: what it was
// at, such as opening the ledger, ends.
func (p *process) toldAtStart(line string) bool {
	return p.url() == "" && strings.HasSuffix(line, ": "+context.Canceled.Error())
}

// diskIsFull is what SQLite says of a disk without space.
const diskIsFull = "database or disk is full"

// refusedByDisk reports whether a process ended by itself because it could not open the ledger on a
// full disk. It has said so, and its supervisor starts it again.
func (p *process) refusedByDisk() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed && slices.ContainsFunc(p.noise, p.diskAtStart)
}

// diskAtStart reports whether a line says that the process met a full disk before it served: as it opened the ledger,
// or wrote its own address beside it. SQLite
// has another sentence for a page of the WAL's index (SQLITE_IOERR_SHMSIZE).
func (p *process) diskAtStart(line string) bool {
	opening := strings.HasPrefix(line, "opledger: opening the ledger in ") &&
		(strings.Contains(line, diskIsFull) || strings.Contains(line, "disk I/O error (4874)"))
	return p.url() == "" && (opening || strings.HasPrefix(line, "opledger: writing the address of serve beside ") &&
		strings.Contains(line, syscall.ENOSPC.Error()))
}

// start starts a function, or `opledger serve` where that is empty.
func (p program) start(t *testing.T, id, function string, variables []string) (started *process, err error) {
	switch {
	case function == "" && !p.knowsNone: // it needs no token
		started, err = startServe(p.path, id, append(slices.Clone(variables), "OPLEDGER_SERVE_TOKEN="))
	case function == "":
		started, err = startServe(p.path, id, variables)
	default:
		started, err = startFunctionOf(t, p.path, id, function, variables)
	}
	if err == nil {
		started.revision = p.revision
	}
	return started, err
}

// kind says what a process is: a function, or `opledger serve`.
func (p *process) kind() string { return cmp.Or(p.function, "serve") }
