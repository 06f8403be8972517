package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// The processes that this program is of a job, beside those of main, and their variables.
const (
	simulated      = "gemini"
	plain          = "plain"
	plainWithKeys  = "plain with keys"
	geminiVariable = "OPLEDGER_LOAD_GEMINI"
	inputVariable  = "OPLEDGER_LOAD_INPUT"
	// simulationVariable has a simulation as JSON.
	simulationVariable = "OPLEDGER_LOAD_SIMULATION"
)

// A bench is where jobs are measured.
type bench struct {
	dir, self, binary string
	simulation        simulation
	variables         []string // of serve, beside those that it needs
	// saw, if not nil, gets what runs, again and again while a job does. after gets the simulator's address once the
	// job has ended.
	saw   func(ledger.RunningBatches)
	after func(ctx context.Context, gemini string) error
}

// newBench makes a folder for everything, and builds opledger. The caller must call close.
func newBench(folder string) (b bench, err error) {
	if b.dir, err = os.MkdirTemp(folder, "opledger-load-jobs-"); err != nil {
		return b, fmt.Errorf("making a folder for the jobs: %w", err)
	}
	if b.self, err = os.Executable(); err != nil {
		return b, errors.Join(fmt.Errorf("finding this program: %w", err), b.close())
	}
	b.binary = filepath.Join(b.dir, "opledger")
	if err := harness.Build("", opledger, b.binary); err != nil {
		return b, errors.Join(err, b.close())
	}
	return b, nil
}

func (b bench) close() error { return os.RemoveAll(b.dir) }

// A simulation is what the simulated Gemini of a job is.
type simulation struct {
	RunTime [2]time.Duration // of a batch
	Speed   float64
	Quotas  geminisim.Quotas
}

// An account is what a simulator says of itself at accountPath.
type account struct {
	Stats   geminisim.Stats
	Batches []geminisim.OperationInfo
}

const accountPath = "/account"

// playGemini serves a simulated Gemini, whose files are in a folder, until the process ends.
func playGemini(folder, simulated string, out io.Writer) error {
	var s simulation
	if err := json.Unmarshal([]byte(simulated), &s); err != nil {
		return fmt.Errorf("reading what to simulate: %w", err)
	}
	sim := geminisim.New(geminisim.Config{
		Seed: 1, Folder: folder, RunTime: s.RunTime, Speed: s.Speed, Quotas: s.Quotas,
	})
	defer sim.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", sim.Handler())
	mux.HandleFunc("GET "+accountPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(account{sim.Stats(), sim.Batches()}) // the caller may have gone
	})
	_, _ = fmt.Fprintf(out, "http://%s\n", listener.Addr())
	return http.Serve(listener, mux) //nolint:gosec // on loopback, for one run
}

// gemini starts a fresh simulator. stop ends it, and deletes its files.
func (b bench) gemini(ctx context.Context) (address string, stop func(), err error) {
	folder := filepath.Join(b.dir, "gemini")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", nil, fmt.Errorf("making a folder for the simulator: %w", err)
	}
	config, err := json.Marshal(b.simulation)
	if err != nil {
		return "", nil, fmt.Errorf("encoding what to simulate: %w", err)
	}
	cmd := b.command(ctx, b.self, nil, roleVariable+"="+simulated, fileVariable+"="+folder,
		simulationVariable+"="+string(config))
	address, err = ready(cmd, filepath.Join(b.dir, "gemini.log"))
	stop = func() { end(cmd); _ = os.RemoveAll(folder) } // the folder of all is deleted in the end
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting the simulator: %w", err)
	}
	return address, stop, nil
}

func (b bench) command(ctx context.Context, program string, args []string, variables ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(without(os.Environ(), "OPLEDGER_", "GEMINI_", "GOOGLE_", "FUNCTION_TARGET="), variables...)
	return cmd
}

// end ends a process, if it runs.
func end(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()                          // by that signal
	}
}

// plain runs the plain program, in one of its roles, on an input.
func (b bench) plain(ctx context.Context, role, input string, row jobRow) (cost, error) {
	address, stop, err := b.gemini(ctx)
	if err != nil {
		return cost{}, err
	}
	defer stop()
	output := filepath.Join(b.dir, "plain.jsonl")
	defer os.Remove(output) //nolint:errcheck // the folder is deleted with it
	began := time.Now()
	computed, peak, err := toItsEnd(b.command(ctx, b.self, nil, roleVariable+"="+role, geminiVariable+"="+address,
		inputVariable+"="+input, fileVariable+"="+output))
	if err != nil {
		return cost{}, err
	}
	return cost{serve: computed, peak: peak, elapsed: time.Since(began)}, checkOutput(output, row)
}

// toItsEnd runs a process, and returns its processor time and the memory that it had at most.
func toItsEnd(cmd *exec.Cmd) (computed time.Duration, peak int64, err error) {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("starting it: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for ticks := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-ticks.C:
			peak = max(peak, peakMemory(cmd.Process.Pid))
		case err := <-ended:
			ticks.Stop()
			if err != nil {
				return 0, 0, fmt.Errorf("%w: %s", err, said.Bytes())
			}
			return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak, nil
		}
	}
}

// product runs the job with serve on SQLite and a folder, and the command that submits it.
func (b bench) product(ctx context.Context, input string, row jobRow) (c cost, err error) {
	gemini, stop, err := b.gemini(ctx)
	if err != nil {
		return cost{}, err
	}
	defer stop()
	dir := filepath.Join(b.dir, "product")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return cost{}, fmt.Errorf("making a folder for the ledger: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	port, err := freePort()
	if err != nil {
		return cost{}, err
	}
	hookSecret, err := createWebhook(ctx, gemini, fmt.Sprintf("http://127.0.0.1:%d/webhook", port))
	if err != nil {
		return cost{}, err
	}
	file, storage := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "jobs")
	where := []string{"OPLEDGER_STORE=sqlite:" + file, "OPLEDGER_JOB_STORAGE=" + storage, "TMPDIR=" + dir}
	serve := b.command(ctx, b.binary, []string{"serve", "--port", fmt.Sprint(port)}, slices.Concat(where, b.variables,
		[]string{"OPLEDGER_WEBHOOK_SECRET=" + hookSecret, "GEMINI_API_KEY=load", "GOOGLE_GEMINI_BASE_URL=" + gemini})...)
	log := filepath.Join(dir, "serve.log")
	defer func() { end(serve) }()
	if _, err := ready(serve, log); err != nil {
		return cost{}, fmt.Errorf("starting serve: %w", err)
	}
	began, pid := time.Now(), serve.Process.Pid
	before := processorTime(pid)
	c.submit, c.submits, err = toItsEnd(b.command(ctx, b.binary, []string{
		"submit", "job", input, "--id", "load", "--model", "gemini-3.5-flash",
	}, where...))
	if err != nil {
		return cost{}, fmt.Errorf("submitting the job: %w", err)
	}
	if err := b.waitForJob(ctx, file, storage); err != nil {
		said, _ := os.ReadFile(log)
		return cost{}, fmt.Errorf("%w; the log of serve: %s", err, said[max(0, len(said)-4000):])
	}
	c.elapsed, c.serve, c.peak = time.Since(began), processorTime(pid)-before, peakMemory(pid)
	if b.after != nil {
		if err := b.after(ctx, gemini); err != nil {
			return cost{}, err
		}
	}
	output, err := filepath.Glob(filepath.Join(storage, "load", "*", "results.jsonl"))
	if err != nil || len(output) != 1 {
		return cost{}, fmt.Errorf("the results are %q, %w", output, err)
	}
	return c, checkOutput(output[0], row)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// createWebhook has a simulator deliver to serve, and returns the secret that it signs with.
func createWebhook(ctx context.Context, gemini, uri string) (string, error) {
	body := fmt.Sprintf(`{"uri":%q,"subscribed_events":["batch.succeeded","batch.failed","batch.expired"]}`, uri)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, gemini+"/v1beta/webhooks",
		bytes.NewReader([]byte(body)))
	if err != nil {
		return "", fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("X-Goog-Api-Key", "load")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("creating a webhook: %w", err)
	}
	var hook struct {
		Secret string `json:"new_signing_secret"`
	}
	err = errors.Join(json.NewDecoder(answer.Body).Decode(&hook), answer.Body.Close())
	if err != nil || hook.Secret == "" {
		return "", fmt.Errorf("creating a webhook: answered %s, %w", answer.Status, err)
	}
	return hook.Secret, nil
}

// waitForJob waits until the job has succeeded, and what only its parts needed is deleted.
func (b bench) waitForJob(ctx context.Context, file, storage string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Hour)
	defer cancel()
	store, err := sqlite.Open(ctx, file, time.Now)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it was only read
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		return err
	}
	for {
		rec, err := l.Operations.Read(ctx, "jobs/load")
		switch {
		case err != nil:
			return err
		case rec.Settled() && rec.State != operation.Succeeded:
			return fmt.Errorf("the job is %s", rec.State)
		case rec.Settled():
			if left, err := filepath.Glob(filepath.Join(storage, "load", "*", "parts", "*", "*")); err != nil || len(left) == 0 {
				return err
			}
		}
		if b.saw != nil {
			running, err := l.Jobs.Running(ctx)
			if err != nil {
				return err
			}
			b.saw(running)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
