package emulator_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger/emulator"
	"github.com/opledger/opledger/test/harness"
)

// asParent in the environment makes this test binary a parent that starts an emulator and waits to
// be killed. asJava makes it what that parent starts instead of java: it listens as the Pub/Sub emulator does.
const asParent, asJava = "OPLEDGER_TEST_AS_PARENT", "OPLEDGER_TEST_AS_JAVA"

func TestMain(m *testing.M) {
	if os.Getenv(asJava) == "1" {
		_, port, _ := strings.Cut(os.Args[len(os.Args)-1], "--port=")
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("Server started, listening on", listener.Addr())
		select {}
	}
	if os.Getenv(asParent) == "1" {
		p, err := emulator.StartPubSub(context.Background())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.Addr())
		select {}
	}
	os.Exit(m.Run())
}

type starter = func(context.Context) (*emulator.Process, error)

func starters() map[string]starter {
	return map[string]starter{"Firestore": emulator.StartFirestore, "Pub/Sub": emulator.StartPubSub}
}

// need skips a test where the emulators are not installed.
func need(t *testing.T) {
	t.Helper()
	if _, err := emulator.Find(); err != nil {
		harness.Missing(t, err.Error())
	}
}

func listening(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	return err == nil && conn.Close() == nil
}

// TestStartAndStop is about Pub/Sub, and harness.TestRestartFirestore tries the same with Firestore.
func TestStartAndStop(t *testing.T) {
	t.Parallel()
	need(t)
	p := started(t, emulator.StartPubSub)
	p.Stop()
	stopped(t, p)
	p.Stop()
}

// started starts an emulator, which serves when the context of its start has ended.
func started(t *testing.T, start starter) *emulator.Process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := start(ctx)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	response, err := http.Get("http://" + p.Addr() + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("GET / answers %s (%v)", response.Status, err)
	}
	select {
	case <-p.Exited():
		t.Error("it has ended before it was stopped")
	default:
	}
	return p
}

// stopped waits until an emulator has ended.
func stopped(t *testing.T, p *emulator.Process) {
	t.Helper()
	<-p.Exited()
	if listening(p.Addr()) {
		t.Error("it still listens after it was stopped")
	}
}

func TestAStartThatIsGivenUp(t *testing.T) {
	t.Parallel()
	need(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller's reason")
	cancel(cause)
	if _, err := emulator.StartPubSub(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, want the caller's reason", err)
	}
}

// TestEndsWithParent: an emulator ends with the process that started it, even where that is killed. Outside of the gate
// another program stands in for java, which takes a second of processor time to start.
func TestEndsWithParent(t *testing.T) {
	t.Parallel()
	need(t)
	if runtime.GOOS != "linux" {
		harness.Missing(t, "only Linux ties a child's life to its parent's")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	if !harness.Thorough(t) {
		bin := t.TempDir()
		script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asJava, os.Args[0])
		if err := os.WriteFile(filepath.Join(bin, "java"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		parent.Env = append(parent.Env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parent.Process.Kill() })
	line, err := bufio.NewReader(output).ReadString('\n')
	addr := strings.TrimSpace(line)
	if err != nil || !listening(addr) {
		t.Fatalf("the parent says %q (%v), and nothing listens there", addr, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // the error that it was killed
	for deadline := time.Now().Add(2 * time.Minute); listening(addr); {
		if time.Now().After(deadline) {
			t.Fatal("the emulator lives on")
		}
		time.Sleep(20 * time.Millisecond) // its end is that of a process that is not our child
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := emulator.Find()
	for _, want := range []string{"java is not installed", "gcloud is not installed"} {
		if !errors.Is(err, emulator.ErrMissing) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("Find: %v, which does not say %q", err, want)
		}
	}
	for name, start := range starters() {
		if _, err := start(t.Context()); !errors.Is(err, emulator.ErrMissing) {
			t.Errorf("starting %s: %v", name, err)
		}
	}
}

// An SDK without emulators, reached through a link as most are.
func TestFindSaysHowToInstallAComponent(t *testing.T) {
	if runtime.GOOS == "windows" {
		harness.Missing(t, "Windows takes no file without an ending such as .exe for a program; those of this test have none")
	}
	sdk, bin := t.TempDir(), t.TempDir()
	program := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program(filepath.Join(sdk, "bin", "gcloud"))
	program(filepath.Join(bin, "java"))
	firestore := filepath.Join(sdk, "platform", "cloud-firestore-emulator", "cloud-firestore-emulator.jar")
	program(firestore)
	if err := os.Symlink(filepath.Join(sdk, "bin", "gcloud"), filepath.Join(bin, "gcloud")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	found, err := emulator.Find()
	if !errors.Is(err, emulator.ErrMissing) ||
		!strings.Contains(err.Error(), "gcloud components install pubsub-emulator") ||
		strings.Contains(err.Error(), "firestore") {
		t.Errorf("Find: %v", err)
	}
	if found.PubSub != "" || filepath.Base(found.Firestore) != "cloud-firestore-emulator.jar" || found.Java == "" {
		t.Errorf("found %+v", found)
	}
}
