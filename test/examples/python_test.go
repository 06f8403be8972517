package examples

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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

// imported are modules that the examples use, and that do nothing with the environment when they are imported.
var imported = []string{"opledger", "asyncio", "http.server"}

// TestPython: the examples in Python, with the standard library alone. What serves is started as its users do.
func TestPython(t *testing.T) {
	t.Parallel()
	python := python(t)
	forks := forking(t, python, imported...)
	language{
		submitter: pythonSubmitter(forks, "--stdlib"),
		receiver: receiver{
			dir: pythonDir, command: []string{python, "receiver.py"}, ending: []string{forks, "receiver.py"},
		},
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
	env := []string{
		"OPLEDGER_COMMAND=" + opledger(t), "INVOICES=" + filepath.Join(t.TempDir(), "invoices.db"),
		"OPLEDGER_SOAK=" + harness.Soak(t, "short", "night", "long"),
		"OPLEDGER_REQUIRE_EMULATORS=" + os.Getenv("OPLEDGER_REQUIRE_EMULATORS"), // the gate tries every point of test_nightly
	}
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

// TestPythonDeployed: see submitsDeployed.
func TestPythonDeployed(t *testing.T) {
	t.Parallel()
	submitsDeployed(t, pythonDir, python(t), "-c", deployedInPython)
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
			w := newWorld(t, nil)
			sdk.freesID(t, w)
			sdk.submitsOnce(t, w)
			sdk.neverRepeats(t)
			sdk.keepsKey(t)
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
