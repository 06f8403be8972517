package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// A restoration is a fleet of one whose ledger is lost.
type restoration struct {
	fleet      *fleet
	ledger     string // its file
	backup     string
	restoredAt time.Time
	names      map[string]string // of the operations, by job
	mu         sync.Mutex
	held       map[string]chan struct{} // effects whose request the receiver keeps, by idempotency key
	atTheDoor  map[string]bool
}

func newRestoration(t *testing.T) *restoration {
	b := inFile(t)
	file, _ := strings.CutPrefix(b.variables[0], "OPLEDGER_STORE=sqlite:")
	r := &restoration{
		fleet: newFleet(t, b, 1,
			geminisim.Config{Seed: 8, Speed: 1000}), ledger: file, backup: filepath.Join(t.TempDir(), "backup.db"),
		names: map[string]string{}, held: map[string]chan struct{}{}, atTheDoor: map[string]bool{},
	}
	r.fleet.receiver.hold = r.keep
	r.fleet.start()
	r.waitFor("the instance is ready", func() bool { return r.fleet.instances[0].process().url() != "" })
	return r
}

func keyOf(name string) string { return operation.IdempotencyKey(operation.Key(name), "publish") }

// keep is the receiver's door.
func (r *restoration) keep(request *http.Request) bool {
	key := request.Header.Get("Idempotency-Key")
	r.mu.Lock()
	r.atTheDoor[key] = true
	open := r.held[key]
	r.mu.Unlock()
	if open == nil {
		return true
	}
	select {
	case <-open:
		return true
	case <-request.Context().Done():
		return false
	}
}

func (r *restoration) hold(jobs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range jobs {
		r.held[keyOf(r.names[job])] = make(chan struct{})
	}
}

func (r *restoration) release(jobs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range jobs {
		close(r.held[keyOf(r.names[job])])
		delete(r.held, keyOf(r.names[job]))
	}
}

func (r *restoration) arrived(job string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.atTheDoor[keyOf(r.names[job])]
}

// register submits a job that runs until succeed, and registers it.
func (r *restoration) register(job, correlation string) {
	r.fleet.t.Helper()
	r.fleet.sim.Script(job, geminisim.Script{Hold: geminisim.StateRunning})
	name, err := r.fleet.submit(job)
	if err != nil {
		r.fleet.t.Fatal(err)
	}
	r.names[job] = name
	r.post(fmt.Sprintf(`{"name":%q,"jobKind":"e2e","correlationId":%q}`, name, correlation))
}

func (r *restoration) intend(correlation string) {
	r.fleet.t.Helper()
	r.post(fmt.Sprintf(`{"intent":true,"correlationId":%q,"jobKind":"e2e","collection":"interactions"}`, correlation))
}

func (r *restoration) post(body string) {
	r.fleet.t.Helper()
	status, answer, _, err := send(http.MethodPost, r.fleet.front.URL+"/register", []byte(body), nil)
	if err != nil || status != http.StatusCreated {
		r.fleet.t.Fatalf("registering %s: %d %s %v", body, status, answer, err)
	}
}

func (r *restoration) succeed(jobs ...string) {
	r.fleet.t.Helper()
	for _, job := range jobs {
		if err := r.fleet.sim.SetState(job, geminisim.StateSucceeded); err != nil {
			r.fleet.t.Fatal(err)
		}
	}
}

func (r *restoration) waitFor(what string, condition func() bool) {
	r.fleet.t.Helper()
	r.fleet.within(patience, what, condition)
}

// run runs a command of the binary on the ledger, with the settings of the process, and returns what it printed.
func (r *restoration) run(args ...string) []byte {
	r.fleet.t.Helper()
	out, complaint, err := r.try(args...)
	if err != nil {
		r.fleet.t.Fatalf("%v: %v\n%s%s", args, err, out, complaint)
	}
	return out
}

func (r *restoration) try(args ...string) (out, complaint []byte, err error) {
	cmd := exec.CommandContext(r.fleet.t.Context(), binary(r.fleet.t), args...)
	cmd.Env = r.fleet.variables("command")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err = cmd.Output()
	return out, said.Bytes(), err
}

// A recovery is what `opledger recover` says.
type recovery struct{ Operations, Effects, Later, Held, Open []any }

func (r *restoration) recover(log string) (report recovery) {
	r.fleet.t.Helper()
	out, complaint, err := r.try("recover", "--log", log, "--yes", "--json")
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil || (err != nil) != (len(report.Held) > 0) {
		r.fleet.t.Fatalf("%v %v\n%s%s", err, jsonErr, out, complaint)
	}
	return report
}

// saveLog writes what the process said to a file, but for the lines about the effects of some jobs.
func (r *restoration) saveLog(but ...string) string {
	r.fleet.t.Helper()
	var text strings.Builder
	for _, p := range r.fleet.processes() {
		for i, line := range p.lines() {
			if line.Event == "effect" &&
				slices.ContainsFunc(but, func(job string) bool { return line.Operation == r.names[job] }) {
				continue
			}
			fmt.Fprintln(&text, p.raw[i])
		}
	}
	path := filepath.Join(r.fleet.t.TempDir(), "serve.log")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		r.fleet.t.Fatal(err)
	}
	return path
}

// putBackupInPlace moves the ledger aside, with the files that SQLite keeps beside it, and copies
// the backup to its place.
func (r *restoration) putBackupInPlace() {
	t := r.fleet.t
	t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(r.ledger+end, r.ledger+".lost"+end); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(r.backup)
	if err == nil {
		err = os.WriteFile(r.ledger, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.restoredAt = time.Now().UTC().Truncate(time.Second)
}

// attempts returns how many requests for each job have reached the receiver.
func (r *restoration) attempts() (counts []string) {
	for job, name := range r.names {
		attempts, _ := r.fleet.receiver.of(keyOf(name))
		counts = append(counts, fmt.Sprint(job, " ", len(attempts)))
	}
	slices.Sort(counts)
	return counts
}

// look reads the ledger as it stands: its file is replaced.
func (r *restoration) look(do func(*ledger.Ledger) error) {
	t := r.fleet.t
	t.Helper()
	store, err := sqlite.Open(t.Context(), r.ledger, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err == nil {
		err = do(l)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

func (r *restoration) show(name string) (story ledger.Story) {
	r.fleet.t.Helper()
	r.look(func(l *ledger.Ledger) (err error) {
		story, err = l.Operations.Show(r.fleet.t.Context(), operation.Key(name))
		return err
	})
	return story
}

// listed returns the ledger's records.
func (r *restoration) listed() (records []operation.Record) {
	r.fleet.t.Helper()
	r.look(func(l *ledger.Ledger) error {
		page, err := l.Operations.List(r.fleet.t.Context(), ledger.Filter{Limit: 100})
		records = page.Items
		return err
	})
	return records
}

func (r *restoration) settled() (n int) {
	for _, rec := range r.listed() {
		if rec.Settled() {
			n++
		}
	}
	return n
}

func (r *restoration) closed() (n int) {
	for _, rec := range r.listed() {
		if rec.Closed() {
			n++
		}
	}
	return n
}

func (r *restoration) isDone(job string) bool {
	return slices.ContainsFunc(r.listed(), func(rec operation.Record) bool {
		return string(rec.Key) == r.names[job] && rec.Effects["publish"] == operation.EffectDone
	})
}
