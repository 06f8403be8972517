package effects_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/mutation/switchboard"
)

func init() { program = serve }

// settings plan the effects that the child process performs.
func settings() ledger.Settings {
	s := ledger.DefaultSettings()
	for _, name := range names {
		s.Rules = append(s.Rules, ledger.Rule{Name: name, On: []operation.State{operation.Succeeded}})
	}
	return s
}

// serve is the deployed program over the store in the file that the environment names. It ends with
// stdin.
func serve() {
	store, err := sqlite.Open(context.Background(), os.Getenv("OPLEDGER_TEST_FILE"), time.Now)
	if err != nil {
		panic(err)
	}
	l, err := ledger.New(store, settings(), ledger.Options{})
	if err != nil {
		panic(err)
	}
	handler := func(err error) effect.Handler {
		return effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, err })
	}
	functions.HTTP("Served", effects.New(effects.Options{
		Runner: effect.NewRunner(l, map[string]effect.Handler{"finishes": handler(nil), "fails": handler(errTarget)}),
		Now:    time.Now, Log: logging.New(os.Stdout, ""),
	}).ServeHTTP)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address := listener.Addr().String()
	listener.Close()
	go func() {
		for {
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				fmt.Println(address)
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(0)
			}
		}
	}()
	host, port, _ := strings.Cut(address, ":")
	fmt.Fprintln(os.Stderr, funcframework.StartHostPort(host, port))
	os.Exit(3)
}

// startChild starts the deployed program over the store in file. It returns its address, and what
// ends it and returns its output.
func startChild(t *testing.T, file string) (address string, stop func() string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(switchboard.Environ(), "OPLEDGER_TEST_CHILD=1", "OPLEDGER_TEST_FILE="+file,
		"FUNCTION_TARGET=Served", "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(stdout, &address); err != nil {
		t.Fatal(err)
	}
	return address, func() string {
		_ = stdin.Close()
		printed, err := io.ReadAll(stdout)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Errorf("the child: %v", err)
		}
		return string(printed)
	}
}

// poster returns what sends a body and returns the status of the answer.
func poster(t *testing.T, client *http.Client, url string) func(http.Header, string) int {
	t.Helper()
	return func(header http.Header, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
}

// TestFramework: in the functions framework, a push of Pub/Sub and an event of Eventarc have the
// same result. A body larger than any message is refused without being read [W7].
func TestFramework(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Open(t.Context(), file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	l, err := ledger.New(store, settings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan(t, l)

	address, stop := startChild(t, file)
	transport := &http.Transport{ExpectContinueTimeout: time.Hour}
	client := &http.Client{Transport: transport}
	post := poster(t, client, "http://"+address+"/projects/p/topics/t")
	for form, make := range forms {
		for _, c := range []struct {
			effect string
			want   int
		}{{"finishes", 200}, {"fails", 200}, {"stranger", 200}, {"absent", 200}} {
			header, body := make(message(c.effect))
			if header == nil {
				header = http.Header{}
			}
			if got := post(header, body); got != c.want {
				t.Errorf("%s, %s: %d, want %d", form, c.effect, got, c.want)
			}
		}
	}
	for name, c := range malformed {
		header := c.header
		if header == nil {
			header = http.Header{"Content-Type": {"application/json"}}
		}
		if got := post(header, c.body); got != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", name, got)
		}
	}
	for form, make := range forms {
		header, body := make(message("absent"))
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Expect", "100-continue") // so that the answer cannot cross the body
		if got := post(header, body+strings.Repeat(" ", 30<<20)); got != http.StatusRequestEntityTooLarge {
			t.Errorf("W7: %s of 30 MB: %d, want 413", form, got)
		}
	}
	transport.CloseIdleConnections()
	if printed := stop(); strings.Count(printed, `"outcome":"finished"`) != 1 {
		t.Errorf("not finished once: %s", printed)
	}
	story, err := l.Operations.Show(t.Context(), key)
	if err != nil || story.Record.Effects["finishes"] != "done" || story.Record.Effects["fails"] != "open" {
		t.Errorf("%+v %v", story.Record, err)
	}
}
