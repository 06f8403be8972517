package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// addresses returns the files beside the ledger that say where a serve is, and what is in them.
func (f file) addresses() map[string][]byte {
	f.t.Helper()
	paths, err := filepath.Glob(f.path + ".serve*")
	if err != nil {
		f.t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, path := range paths {
		if found[path], err = os.ReadFile(path); err != nil {
			f.t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			f.t.Errorf("%v %v", info, err)
		}
	}
	return found
}

// asks checks whether reconcile on the file finds a serve that makes its pass.
func (f file) asks(finds bool, variables ...string) {
	f.t.Helper()
	s := cli(f.t, variables, "reconcile", "--store", f.store())
	if made := strings.Contains(s.err, "made the pass"); made != finds || finds && s.code != exitDone {
		f.t.Errorf("exit code %d: %s%s", s.code, s.out, s.err)
	}
}

// TestServeAddressOfAnother: of a serve that was killed the address stays. Another user of the machine who
// has its port since, and answers what that serve told everyone, is sent nothing that opens anything, and
// is not believed [G7].
func TestServeAddressOfAnother(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	s := serving(t, []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_SERVE_TOKEN=" + serveToken}, "--schedule=false")
	answer, err := http.Get(s.url + "/health?nonce=noted-before")
	if err != nil {
		t.Fatal(err)
	}
	noted, err := io.ReadAll(answer.Body)
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	left := f.addresses()
	if err != nil || len(left) != 1 {
		t.Fatalf("%v, %v", left, err)
	}
	s.stop()
	if stay := f.addresses(); len(stay) > 0 {
		t.Errorf("serve leaves %v", stay)
	}
	for path, text := range left { // as SIGKILL leaves them
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Skip("its port was taken since: ", err)
	}
	var mu sync.Mutex
	var sent []string
	other := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
			_, _ = w.Write(noted) // a caller that left does not matter
		},
	)}}
	other.Start()
	defer other.Close()
	f.asks(false, "OPLEDGER_SERVE_TOKEN="+serveToken, "OPLEDGER_TOKEN="+serveToken)
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
	f := newFile(t)
	s := serving(t, []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_SERVE_TOKEN="}, "--schedule=false")
	f.asks(true, "OPLEDGER_TOKEN="+serveToken)
	if log := s.stop(); strings.Contains(log, "refused") {
		t.Errorf("a token was tried: %s", log)
	}
}

// TestServeAddresses: of several serves on one file each is found, whichever ends first; one that starts
// removes what a killed one left.
func TestServeAddresses(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	if err := os.WriteFile(f.path+".serve-killed", []byte(`{"url":"http://127.0.0.1:1","key":"k"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() served {
		return serving(t, []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_SERVE_TOKEN="}, "--schedule=false")
	}
	first, second := start(), start()
	f.asks(true)
	second.stop()
	f.asks(true)
	third := start()
	first.stop()
	f.asks(true)
	if left := f.addresses(); len(left) != 1 {
		t.Errorf("%v", left)
	}
	third.stop()
	f.asks(false)
}
