package open_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// addresses returns the files beside the ledger that say where a serve is, and what is in them.
func addresses(f commandtest.File) map[string][]byte {
	f.T.Helper()
	paths, err := filepath.Glob(f.Path + ".serve*")
	if err != nil {
		f.T.Fatal(err)
	}
	found := map[string][]byte{}
	for _, path := range paths {
		if found[path], err = os.ReadFile(path); err != nil {
			f.T.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			f.T.Errorf("%v %v", info, err)
		}
	}
	return found
}

// asks checks whether reconcile on the file finds a serve that makes its pass.
func asks(f commandtest.File, finds bool, variables ...string) {
	f.T.Helper()
	s := commandtest.Run(f.T, variables, "reconcile", "--store", f.Store())
	if made := strings.Contains(s.Err, "made the pass"); made != finds || finds && s.Code != terminal.ExitDone {
		f.T.Errorf("exit code %d: %s%s", s.Code, s.Out, s.Err)
	}
}

// TestServeAddressOfAnother: of a serve that was killed the address stays. Another user of the machine who
// has its port since, and answers what that serve told everyone, is sent nothing that opens anything, and
// is not believed [G7].
func TestServeAddressOfAnother(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	s := commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_SERVE_TOKEN=" +
		commandtest.ServeToken}, "--schedule=false")
	answer, err := http.Get(s.URL + "/health?nonce=noted-before")
	if err != nil {
		t.Fatal(err)
	}
	noted, err := io.ReadAll(answer.Body)
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	left := addresses(f)
	if err != nil || len(left) != 1 {
		t.Fatalf("%v, %v", left, err)
	}
	s.Stop()
	if stay := addresses(f); len(stay) > 0 {
		t.Errorf("serve leaves %v", stay)
	}
	var mu sync.Mutex
	var sent []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		_, _ = w.Write(noted) // a caller that left does not matter
	}))
	defer other.Close()
	for path, text := range left { // as SIGKILL leaves them; that the other has the port is said by its address
		moved := bytes.ReplaceAll(text, []byte(s.URL), []byte(other.URL))
		if bytes.Equal(moved, text) {
			t.Fatalf("%s does not hold %s", path, s.URL)
		}
		if err := os.WriteFile(path, moved, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asks(f, false, "OPLEDGER_SERVE_TOKEN="+commandtest.ServeToken, "OPLEDGER_TOKEN="+commandtest.ServeToken)
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(sent, ", "); got != "GET /health " {
		t.Errorf("it was sent %q", got)
	}
}

// TestServeAddressNeedsNoToken: a command asks the serve on its ledger with what stands beside the ledger,
// and never with a token of the environment, which may be another server's.
func TestServeAddressNeedsNoToken(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	s := commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_SERVE_TOKEN="}, "--schedule=false")
	asks(f, true, "OPLEDGER_TOKEN="+commandtest.ServeToken)
	if log := s.Stop(); strings.Contains(log, "a caller was refused") {
		t.Errorf("a token was tried: %s", log)
	}
}

// TestServeAddresses: of several serves on one file each is found, whichever ends first; one that starts
// removes what a killed one left.
func TestServeAddresses(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	if err := os.WriteFile(f.Path+".serve-killed", []byte(`{"url":"http://127.0.0.1:1","key":"k"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() commandtest.Served {
		return commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_SERVE_TOKEN="}, "--schedule=false")
	}
	first, second := start(), start()
	asks(f, true)
	second.Stop()
	asks(f, true)
	third := start()
	first.Stop()
	asks(f, true)
	if left := addresses(f); len(left) != 1 {
		t.Errorf("%v", left)
	}
	third.Stop()
	asks(f, false)
}

// TestServeAddressPlanted: a file that another user can have written is no address, though its server proves
// the key that is in it. The next serve leaves it, and every file that is none of its own, as it found it [G7].
func TestServeAddressPlanted(t *testing.T) {
	t.Parallel()
	f, other := commandtest.NewFile(t), commandtest.NewFile(t)
	serving := func(f commandtest.File) commandtest.Served {
		return commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_SERVE_TOKEN="}, "--schedule=false")
	}
	planter := serving(other)
	left := map[string]fs.FileMode{}
	plant := func(name string, text []byte, mode fs.FileMode) {
		t.Helper()
		path := f.Path + ".serve-" + name
		if err := errors.Join(os.WriteFile(path, text, mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		left[path] = mode
	}
	for path, text := range addresses(other) {
		plant("readable", text, 0o644)
		plant("writable", text, 0o620)
		if err := os.Symlink(path, f.Path+".serve-link"); err != nil {
			t.Fatal(err)
		}
		left[f.Path+".serve-link"] = fs.ModeSymlink | 0o777
		if os.Geteuid() == 0 { // only then can a file be another's
			plant("owned", text, 0o600)
			if err := os.Chown(f.Path+".serve-owned", 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	plant("notes.txt", []byte("of the operator"), 0o600)
	plant("readable-gone", []byte(`{"url":"http://127.0.0.1:1","key":"k"}`), 0o644)
	asks(f, false)
	s := serving(f)
	asks(f, true)
	s.Stop()
	planter.Stop()
	for path, mode := range left {
		if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want the mode %v", path, info, err, mode)
		}
	}
}

// TestServeAddressSlow: the address of a serve that takes connections and proves nothing now stays: it may be
// busy, or stopped for a while. What refuses them was killed, and so was what had the port of the one that begins.
func TestServeAddressSlow(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	slow := httptest.NewServer(http.NotFoundHandler())
	defer slow.Close()
	where := open.Location{Store: config.Store{SQLite: f.Path}}
	for i, c := range []struct {
		url  string
		left int
	}{{slow.URL, 1}, {"http://127.0.0.1:1", 2}, {"http://127.0.0.1:1", 2}, {slow.URL, 1}} {
		withdraw, err := where.Announce(t.Context(), open.ServeAddress{URL: c.url, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		defer withdraw()
		if left := addresses(f); len(left) != c.left {
			t.Errorf("after %d: %q", i+1, left)
		}
	}
}

// TestServe: a serve that answers runs, and one whose port nothing listens at, or another program does, is gone. One
// that takes connections and answers nothing is silent. Of another user's nothing is known. One that answers counts,
// whatever others left.
func TestServe(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	stopped, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // as one that SIGSTOP has stopped
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close() //nolint:errcheck // it was only listened on
	another := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"proof":"made up"}`)
	}))
	defer another.Close()
	where := open.Location{Store: config.Store{SQLite: f.Path}}
	left := func(name, url string, mode fs.FileMode) {
		t.Helper()
		path := f.Path + ".serve-" + name
		err := os.WriteFile(path, fmt.Appendf(nil, `{"url":%q,"key":"k"}`, url), mode)
		if err := errors.Join(err, os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want overview.Serve) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // the silent one takes all of it
		defer cancel()
		if want.State != overview.ServeSilent {
			ctx = t.Context()
		}
		if got := where.Serve(ctx); got.State != want.State || got.URL != want.URL {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	left("notes", "", 0o600)
	if err := os.WriteFile(f.Path+".serve-keyless", []byte(`{"url":"http://127.0.0.1:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want(overview.Serve{State: overview.ServeNone})
	left("another", another.URL, 0o600)
	want(overview.Serve{State: overview.ServeGone})
	left("killed", "http://127.0.0.1:1", 0o600)
	want(overview.Serve{State: overview.ServeGone})
	left("theirs", "http://127.0.0.1:1", 0o644)
	want(overview.Serve{})
	for _, name := range []string{"killed", "another"} {
		if err := os.Remove(f.Path + ".serve-" + name); err != nil {
			t.Fatal(err)
		}
	}
	left("stopped", "http://"+stopped.Addr().String(), 0o600)
	silent := overview.Serve{State: overview.ServeSilent, URL: "http://" + stopped.Addr().String()}
	want(silent)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := where.ResumeEffects(ctx, ledger.Decision{By: "kim"}); err == nil ||
		!strings.HasPrefix(err.Error(), silent.Words()+": end its process, and then start opledger serve") {
		t.Errorf("%v", err)
	}
	s := commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store()}, "--schedule=false")
	defer s.Stop()
	left("later", "http://127.0.0.1:1", 0o600)
	want(overview.Serve{State: overview.ServeRuns})
	where.SQLite = ""
	want(overview.Serve{})
}
