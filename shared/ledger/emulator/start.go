package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
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

// StartFirestore starts a Firestore emulator on a free loopback port and returns when it listens.
// ctx bounds the start only; Stop ends the emulator. The error wraps ErrMissing where something
// must be installed first.
func StartFirestore(ctx context.Context) (*Process, error) { return StartFirestoreWith(ctx) }

// StartFirestoreWith is StartFirestore with more options of the emulator, such as --import-data.
func StartFirestoreWith(ctx context.Context, more ...string) (*Process, error) {
	installed, err := Find()
	if installed.Java == "" || installed.Firestore == "" {
		return nil, fmt.Errorf("the Firestore emulator cannot be started: %w", err)
	}
	return start(ctx, "the Firestore emulator", "Dev App Server is now running.", func(host, port string) []string {
		// The jar names no main class, and its error texts are only right in English.
		return slices.Concat([]string{installed.Java}, javaOptions, firestoreOptions, []string{
			"-Duser.language=en", "-cp", installed.Firestore,
			"com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start", "--host=" + host, "--port=" + port,
		}, more)
	})
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
