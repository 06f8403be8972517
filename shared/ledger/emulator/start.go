package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// javaOptions are those of every emulator. Without a bound the Firestore emulator grew to 2 GB
// after 100,000 documents. The others save processor time, in a process that lives for minutes.
var javaOptions = []string{
	"-Xmx1g",
	// The optimizing compiler and the parallel garbage collector take as much processor time as all
	// the rest, and give nothing back in so short a life.
	"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
	// The jars are those of the SDK: verifying their bytecode is a sixth of each start.
	"-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
	// A request crosses two connections inside the emulator. One thread for both is woken once.
	"-Dio.netty.eventLoopThreads=1",
}

// firestoreOptions are those of the Firestore emulator alone. Much code runs for each of its
// requests, which is compiled early: tests make thousands of them.
var firestoreOptions = []string{"-XX:CompileThresholdScaling=0.3"}

// maxStarts is how many ports are tried: a program that reserves no ports may take one before the
// emulator does.
const maxStarts = 5

// StartFirestore starts a Firestore emulator on a free loopback port and returns when it has made a commit.
// ctx bounds the start only; Stop ends the emulator. The error wraps ErrMissing where something
// must be installed first.
func StartFirestore(ctx context.Context) (*Process, error) { return StartFirestoreWith(ctx) }

// StartFirestoreWith is StartFirestore with more options of the emulator, such as --import-data.
func StartFirestoreWith(ctx context.Context, more ...string) (*Process, error) {
	installed, err := Find()
	if installed.Java == "" || installed.Firestore == "" {
		return nil, fmt.Errorf("the Firestore emulator cannot be started: %w", err)
	}
	p, err := start(ctx, "the Firestore emulator", "Dev App Server is now running.", func(host, port string) []string {
		// The jar names no main class, and its error texts are only right in English.
		return slices.Concat([]string{installed.Java}, javaOptions, firestoreOptions, []string{
			"-Duser.language=en", "-cp", installed.Firestore,
			"com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start", "--host=" + host, "--port=" + port,
		}, more)
	})
	if err != nil {
		return nil, err
	}
	if err := commitOnce(ctx, p.Addr()); err != nil {
		p.Stop()
		return nil, fmt.Errorf("the first commit of the Firestore emulator: %w", err)
	}
	return p, nil
}

// warmedUp is the document that StartFirestore writes, in a project of its own.
const warmedUp = "projects/warmed-up/databases/(default)/documents/warmed/up"

// commitOnce makes the Firestore emulator's first commit, for which it loads most of its code. On a machine that is
// busy that takes longer than clients wait for a commit.
func commitOnce(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it is not made after %v", startTimeout))
	defer cancel()
	const body = `{"writes":[{"update":{"name":"` + warmedUp + `","fields":{"warm":{"booleanValue":true}}}}]}`
	parent, _, _ := strings.Cut(warmedUp, "/warmed/")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/"+parent+":commit",
		strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer owner")
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return errors.Join(err, response.Body.Close())
}

// StartPubSub does for Pub/Sub what StartFirestore does for Firestore.
func StartPubSub(ctx context.Context) (*Process, error) {
	installed, err := Find()
	if installed.Java == "" || installed.PubSub == "" {
		return nil, fmt.Errorf("the Pub/Sub emulator cannot be started: %w", err)
	}
	return start(ctx, "the Pub/Sub emulator", "Server started, listening on", func(host, port string) []string {
		return slices.Concat([]string{installed.Java}, javaOptions,
			[]string{"-jar", installed.PubSub, "--host=" + host, "--port=" + port})
	})
}

// start runs the command with one port after the other until an emulator says that it is ready.
func start(ctx context.Context, name, ready string, command func(host, port string) []string) (*Process, error) {
	var failures []error
	for range maxStarts {
		port, release, err := ReservePort()
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", name, err)
		}
		const host = "127.0.0.1"
		number := strconv.Itoa(port)
		p, err := run(name, net.JoinHostPort(host, number), ready, command(host, number), release)
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", name, err)
		}
		if err = p.ready(ctx); err == nil {
			return p, nil
		}
		p.Stop()
		failures = append(failures, err)
		if ctx.Err() != nil || !errors.Is(err, errEnded) {
			break
		}
	}
	return nil, fmt.Errorf("starting %s: %w", name, errors.Join(failures...))
}
