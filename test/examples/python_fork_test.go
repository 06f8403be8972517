package examples

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// forked begins the name of a program that is an interpreter, which has started and forks for each run. The socket on
// which it listens follows.
const forked = "forked:"

// forks is that interpreter. It imports the modules that its arguments name. Who connects to its
// socket sends a line, an asked, and gets what the program says, a zero byte and the exit code; it kills the program
// when it closes the connection. The program ends as any does: by the end of its code, or by what it raises.
const forks = `
import gc, importlib, json, os, runpy, signal, socket, sys, threading
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
for name in sys.argv[2:]:
    importlib.import_module(name)
gc.freeze()  # no fork looks through what was imported, nor copies it
print("it forks", flush=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for them
while True:
    conn, _ = listener.accept()
    if not os.fork():
        break
    conn.close()
listener.close()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
asked = json.loads(conn.makefile("rb").readline())
pid = os.fork()
if pid:
    def kills():
        conn.recv(1)
        os.kill(pid, signal.SIGKILL)
    threading.Thread(target=kills, daemon=True).start()
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # the id stays its own
    conn.sendall(b"\0%d" % (ended.si_status if ended.si_code == os.CLD_EXITED else -1))
    os._exit(0)
os.chdir(asked["dir"])
os.environ.clear()
os.environ.update(variable.split("=", 1) for variable in asked["env"])
for to in 1, 2:
    os.dup2(conn.fileno(), to)
conn.close()
first, *sys.argv = asked["args"]
if first == "-c":
    code = sys.argv[0]
    sys.argv[0] = "-c"
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
else:
    sys.argv.insert(0, first)
    sys.path[0] = os.path.abspath(os.path.dirname(first))
    runpy.run_path(first, run_name="__main__")`

// An asked is a run of a program.
type asked struct {
	Dir  string   `json:"dir"`
	Env  []string `json:"env"`
	Args []string `json:"args"`
}

// forking starts an interpreter that forks: most of a run's processor time is that Python starts, and imports modules.
// It returns the name of the program.
func forking(t *testing.T, python string, modules ...string) string {
	t.Helper()
	socket := filepath.Join(binDir, rand.Text()) // the path of a socket is a hundred bytes long at most
	start(t, "", nil, python, append([]string{"-c", forks, socket}, modules...)...).await("it forks")
	return forked + socket
}

// fork runs a program to its end, or to that of the context, and returns what it said and its exit code.
func fork(ctx context.Context, socket string, run asked) (string, int, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return "", 0, err
	}
	defer conn.Close() //nolint:errcheck // all that counts was read
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if run.Dir, err = filepath.Abs(run.Dir); err != nil {
		return "", 0, err
	}
	line, err := json.Marshal(run)
	if err != nil {
		return "", 0, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return "", 0, err
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		return string(said), 0, err
	}
	out, code, _ := strings.Cut(string(said), "\x00")
	exit, err := strconv.Atoi(code)
	if err != nil {
		return out, 0, fmt.Errorf("the interpreter did not say how the program ended: %w", err)
	}
	return out, exit, nil
}
