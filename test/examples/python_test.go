package examples

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/harness"
)

// envPython names a Python environment with the packages of requirements.txt; "none" leaves the
// tests that need them out.
const envPython = "EXAMPLES_PYTHON"

const pythonDir = root + "/scripts/examples/python"

// python returns the interpreter. What is in the PATH may be a script that looks for it at each
// start, which takes longer than Python.
func python(t *testing.T) string {
	t.Helper()
	harness.Program(t, "python3", "the examples in Python are not run")
	path, err := interpreter()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var interpreter = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

func pythonSubmitter(python string, flags ...string) submitter {
	return submitter{
		dir: pythonDir, command: append([]string{python, "submit.py"}, flags...), ends: true,
		unanswered: "no answer says whether it was submitted", refused: "nothing runs",
	}
}

// TestPython: the examples in Python, with the standard library alone.
func TestPython(t *testing.T) {
	t.Parallel()
	python := python(t)
	language{
		submitter: pythonSubmitter(python, "--stdlib"),
		receiver:  receiver{dir: pythonDir, command: []string{python, "receiver.py"}},
	}.test(t)
}

// TestPythonReceiverLength: a length that is none is answered 400.
func TestPythonReceiverLength(t *testing.T) {
	t.Parallel()
	r := receiver{dir: pythonDir, command: []string{python(t), "receiver.py"}}
	_, url := r.start(t, filepath.Join(t.TempDir(), "inbox"))
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/completions")
	for _, length := range []string{"-1", "many", strings.Repeat("9", 5000)} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, "POST /completions HTTP/1.0\r\nContent-Length: "+length+"\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 400 ") {
			t.Errorf("the length %.10s is answered %q, %v", length, answer, err)
		}
		_ = conn.Close()
	}
}

// packageDir is where Python finds the package opledger.
var packageDir = sync.OnceValue(func() string {
	path, err := filepath.Abs(root + "/scripts/python")
	if err != nil {
		panic(err)
	}
	return path
})

// TestPythonPackage: the tests of the package, and of the programs that use it. Most wait for processes of their own.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	python := python(t)
	env := []string{"OPLEDGER_COMMAND=" + opledger(t), "INVOICES=" + filepath.Join(t.TempDir(), "invoices.db")}
	for dir, tests := range map[string][]string{
		packageDir(): {
			"tests.test_client", "tests.test_requests", "tests.test_docs", "tests.test_serve.OutageTest",
			"tests.test_serve.JobsTest", "tests.test_serve.HarshTest", "tests.test_serve.StoredTest",
			"tests.test_serve.KilledTest", "tests.test_serve.RefusedTest",
		},
		pythonDir: {"test_gemini_stdlib", "test_nightly"},
	} {
		for _, name := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if out, ok := run(t, dir, env, python, "-m", "unittest", name); !ok {
					t.Error(out)
				}
			})
		}
	}
}

// printOptions prints the options of jobs.submit and the limits of jobs.change, as they are called over HTTP.
const printOptions = `
from opledger import JobLimits, JobOptions
from opledger._client import camel
for of in JobOptions, JobLimits:
    print(*sorted(camel(dict.fromkeys(of.__optional_keys__))))`

// TestPythonOptions: the package takes each option of a job, and each limit that may change.
func TestPythonOptions(t *testing.T) {
	t.Parallel()
	var want string
	for _, of := range []reflect.Type{reflect.TypeFor[job.Options](), reflect.TypeFor[job.Limits]()} {
		var names []string
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "model" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		want += strings.Join(names, " ") + "\n"
	}
	if out, ok := run(t, pythonDir, nil, python(t), "-c", printOptions); !ok || out != want {
		t.Errorf("the package has\n%s, want\n%s", out, want)
	}
}

const submitDeployed = `
import os
from opledger import NotSettledError, Opledger
client = Opledger(os.environ["OPLEDGER_URL"], storage="gs://jobs-of-reviews/nightly", storage_token="token")
rows = [(f"row-{i}", "x" * (1 << 20)) for i in range(20)]
jobs = [client.jobs.submit("one", rows, model="gemini-3.5-flash") for _ in range(2)]
print(*[job.known for job in jobs], jobs[0].progress["input"]["requests"])
print(*[result.key for result in client.results("batches/a", at="gs://jobs-of-reviews/batches/a/publish.jsonl")])
try:
    list(client.jobs.results("one"))
except NotSettledError as error:
    print(error.operation.state)`

// TestPythonDeployed: with Register, as it is deployed, an input goes to job storage in pieces, once; what an effect
// has put in a bucket is read from there.
func TestPythonDeployed(t *testing.T) {
	t.Parallel()
	sim := storagesim.Start(storagesim.Config{Buckets: []string{"jobs-of-reviews"}})
	t.Cleanup(sim.Close)
	sim.Put("jobs-of-reviews", "batches/a/publish.jsonl", `{"key":"a","response":{}}`+"\n"+`{"key":"b","error":{}}`, nil)
	jobs, err := storage.Open("gs://jobs-of-reviews/nightly", sim.Addr())
	if err != nil {
		t.Fatal(err)
	}
	k := newKilling(t)
	deployed := httptest.NewServer(register.New(register.Options{
		Ledger: k.ledger, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler), Storage: jobs,
	}))
	t.Cleanup(deployed.Close)
	env := []string{"OPLEDGER_URL=" + deployed.URL, "STORAGE_EMULATOR_HOST=" + sim.Addr()}
	out, ok := run(t, pythonDir, env, python(t), "-c", submitDeployed)
	if want := "False True 20\na b\nPENDING\n"; !ok || out != want {
		t.Fatalf("it said %s, want %s", out, want)
	}
	j, err := k.ledger.Jobs.Read(t.Context(), "jobs/one")
	if err != nil {
		t.Fatal(err)
	}
	stored := sim.Object("jobs-of-reviews", "nightly/"+j.Input.Object)
	sum := sha256.Sum256(stored.Content)
	// It is the second object of all, and was not written again.
	if hex.EncodeToString(sum[:]) != j.Input.SHA256 || stored.Generation != 2 ||
		int64(len(stored.Content)) != j.Input.Bytes {
		t.Errorf("%d bytes, generation %d: %+v", len(stored.Content), stored.Generation, j.Input)
	}
}

// serveFlask is flask run, on a port that it says.
const serveFlask = `
import receiver_flask, werkzeug.serving
server = werkzeug.serving.make_server("127.0.0.1", 0, receiver_flask.app)
print(f"receives on http://127.0.0.1:{server.server_port}/completions", flush=True)
server.serve_forever()`

// TestPythonPackages: the examples that need packages are at least Python; where the packages are
// there, they are run.
func TestPythonPackages(t *testing.T) {
	t.Parallel()
	python := python(t)
	files, err := filepath.Glob(pythonDir + "/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	const compile = "import sys\nfor f in sys.argv[1:]: compile(open(f).read(), f, 'exec', dont_inherit=True)"
	if out, ok := run(t, "", nil, python, append([]string{"-c", compile}, files...)...); !ok {
		t.Fatal(out)
	}
	environment := os.Getenv(envPython)
	if environment == "none" {
		harness.Without(t, envPython, "the examples in Python that need packages: they are compiled only")
		return
	}
	if environment != "" {
		python = filepath.Join(environment, "bin", "python")
	}
	for module, test := range map[string]func(*testing.T){
		"google.genai": func(t *testing.T) {
			sdk := pythonSubmitter(python)
			sdk.submitsOnce(t, newWorld(t, nil))
			sdk.neverRepeats(t)
			sdk.keepsKey(t)
			sdk.freesID(t)
		},
		"standardwebhooks": func(t *testing.T) {
			flask := receiver{dir: pythonDir, command: []string{python, "-c", serveFlask}}
			flask.acceptsOnce(t, filepath.Join(t.TempDir(), "inbox"))
			flask.needsSecret(t)
			flask.needsInbox(t)
		},
	} {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			if out, ok := run(t, "", nil, python, "-c", "import "+module); !ok {
				if environment != "" {
					t.Fatal(out)
				}
				harness.Missing(t, fmt.Sprintf("the Python package of %s is not installed, its example is compiled and not run: %s",
					module, out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]))
			}
			test(t)
		})
	}
}
