package linearizability

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	processes = 3  // on one store
	clients   = 3  // of each process
	keys      = 2  // operations of a round
	calls     = 24 // of each client in a round
)

// A fleet is the worker processes of one store.
type fleet struct {
	t       *testing.T
	at      assignment
	broken  string
	dir     string
	random  *rand.Rand
	workers [processes]*worker
	rounds  int
	seen    tally
}

// A worker is one process.
type worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  bytes.Buffer
}

func newFleet(t *testing.T, at assignment, broken string) *fleet {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := &fleet{t: t, at: at, broken: broken, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0))}
	for i := range f.workers {
		f.start(i)
	}
	t.Cleanup(f.end)
	return f
}

// start starts the worker of a place, also in the place of one that was killed.
func (f *fleet) start(i int) {
	f.t.Helper()
	a := f.at
	a.First, a.Clients, a.Seed = i*clients, clients, f.random.Uint64()
	if f.broken == noPreconditions || i == 0 {
		a.Broken = f.broken
	}
	assigned, err := json.Marshal(a)
	if err != nil {
		f.t.Fatal(err)
	}
	w := &worker{command: exec.Command(os.Args[0])}
	w.command.Env = append(os.Environ(), workerVariable+"="+string(assigned))
	w.command.Stderr = &w.stderr
	var out io.ReadCloser
	if w.in, err = w.command.StdinPipe(); err == nil {
		out, err = w.command.StdoutPipe()
	}
	if err == nil {
		err = w.command.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	f.workers[i] = w
}

// end ends the workers gently.
func (f *fleet) end() {
	for _, w := range f.workers {
		if err := errors.Join(w.in.Close(), w.command.Wait()); err != nil {
			f.t.Errorf("a worker ended with %v: %s", err, w.stderr.String())
		}
	}
}

// round lets the workers play a round about operations of its own, one of them to its death, and
// reports whether what they were answered is linearizable. It is a failure where it is not, unless
// a guard is broken.
func (f *fleet) round() bool {
	f.t.Helper()
	f.rounds++
	r := round{Calls: calls}
	for i := range keys {
		r.Keys = append(r.Keys, fmt.Sprintf("batches/r%dk%d", f.rounds, i))
	}
	victim := f.random.IntN(processes)
	for i, w := range f.workers {
		r.History, r.DieAt = f.path(i), 0
		if i == victim {
			r.DieAt, r.DieWithin = 1+f.random.Int64N(30), 4*time.Millisecond
		}
		told, err := json.Marshal(r)
		if err == nil {
			_, err = w.in.Write(append(told, '\n'))
		}
		if err != nil {
			f.t.Fatalf("telling a worker of its round: %v: %s", err, w.stderr.String())
		}
	}
	var all []porcupine.Operation
	for i := range f.workers {
		f.await(i, i == victim)
		calls, err := readHistory(f.path(i), clock())
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, calls...)
	}
	all = append(all, f.last(r.Keys)...)
	f.seen.add(all)
	return f.check(all)
}

func (f *fleet) path(worker int) string {
	return filepath.Join(f.dir, fmt.Sprintf("round-%d-process-%d.jsonl", f.rounds, worker))
}

// await waits until a worker has played the round, or was killed, and then starts another one.
func (f *fleet) await(i int, mayDie bool) {
	f.t.Helper()
	w := f.workers[i]
	said, err := w.out.ReadString('\n')
	if strings.TrimSpace(said) == f.path(i) {
		return
	}
	ended := w.command.Wait()
	var exit *exec.ExitError
	killed := errors.As(ended, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if !mayDie || !killed {
		f.t.Fatalf("a worker said %q, %v, and ended with %v: %s", said, err, ended, w.stderr.String())
	}
	_ = w.in.Close() // the pipe of a process that is gone
	f.seen.kills++
	f.start(i)
}

// last reads every record once more, when all is over.
func (f *fleet) last(keys []string) []porcupine.Operation {
	f.t.Helper()
	a := f.at
	store, err := a.open(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			f.t.Error(err)
		}
	}()
	reader, err := newClient(processes*clients, store, 0, time.Time{})
	if err != nil {
		f.t.Fatal(err)
	}
	h, err := newHistory(f.path(processes))
	if err != nil {
		f.t.Fatal(err)
	}
	reader.begin(h)
	for _, key := range keys {
		reader.read(f.t.Context(), key)
	}
	if err := h.close(); err != nil {
		f.t.Fatal(err)
	}
	all, err := readHistory(f.path(processes), clock())
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// patience bounds the search for one round's order, which takes milliseconds.
const patience = 5 * time.Minute

// slack is how far the emulator's clock may be from this machine's monotonic one.
const slack = 40 * time.Millisecond

func (f *fleet) check(all []porcupine.Operation) bool {
	f.t.Helper()
	// Those that are not known return last: in the order of their calls, so that files are compared
	// easily.
	slices.SortStableFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	model := specification(bounds{ClaimTTL: claimTTL, MaxAttempts: maxAttempts, Slack: slack})
	result, info := porcupine.CheckOperationsVerbose(model, all, patience)
	switch {
	case result == porcupine.Ok:
		for i := range processes + 1 {
			if err := os.Remove(f.path(i)); err != nil {
				f.t.Fatal(err)
			}
		}
		return true
	case f.broken == "" || result == porcupine.Unknown:
		f.t.Errorf("round %d: linearizable: %s; the history is in %s", f.rounds, result, f.keep(model, all, info))
	}
	return false
}

// keep keeps a history where the test's end does not delete it, with a page that draws it.
func (f *fleet) keep(model porcupine.Model, all []porcupine.Operation, info porcupine.LinearizationInfo) string {
	f.t.Helper()
	dir, err := os.MkdirTemp("", "opledger-linearizability-")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(f.dir))
	}
	if err == nil {
		end := int64(0)
		for _, op := range all {
			end = max(end, op.Output.(output).Ended)
		}
		for i := range all { // a page cannot draw the end of time
			if all[i].Return == math.MaxInt64 {
				all[i].Return = end
			}
		}
		err = porcupine.VisualizePath(model, info, filepath.Join(dir, "history.html"))
	}
	if err != nil {
		f.t.Errorf("keeping the history: %v", err)
	}
	return dir
}
