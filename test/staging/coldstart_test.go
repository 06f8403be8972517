package staging

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// helloFunction is a minimal function of the functions framework.
const helloFunction = `package app

import (
	"fmt"
	"net/http"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
)

func init() {
	functions.HTTP("Hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
}
`

// hellos are the functions that the others are measured beside: helloFunction, and the same with the
// clients without which there is no ledger. It links them and uses neither, so that it is the floor of
// what a function with a ledger can cost. Each has these files beside helloFunction.
var hellos = map[string]map[string]string{
	"hello": nil,
	"clients": {"clients.go": `package app

import (
	_ "cloud.google.com/go/firestore"
	_ "cloud.google.com/go/pubsub/v2/apiv1"
)
`},
}

// hello builds helloFunction, with these further files, with the modules that the functions are built
// with.
func hello(name string, further map[string]string) (built, error) {
	staged, err := stage()
	if err != nil {
		return built{}, err
	}
	source := filepath.Join(sourceDir, name+"-source")
	err = errors.Join(os.Mkdir(source, 0o755), os.WriteFile(filepath.Join(source, "app.go"), []byte(helloFunction), 0o600))
	for file, text := range further {
		err = errors.Join(err, os.WriteFile(filepath.Join(source, file), []byte(text), 0o600))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, readErr := os.ReadFile(filepath.Join(staged, "register", name))
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(source, name), text, 0o600))
	}
	if err != nil {
		return built{}, fmt.Errorf("writing a hello-world function: %w", err)
	}
	return buildpack(source, filepath.Join(workDir, name))
}

// BenchmarkColdStart measures from exec to the first answer, the memory that is resident then, and
// the processor time of both, which other work on the machine changes least. It does so for each
// function, and for one that only links the clients, beside a hello-world function in the same run:
// medians, and how many times hello's. It runs on one machine, without a container: the ratios count.
//
//	go test -run '^$' -bench ColdStart -benchtime 30x ./test/staging
func BenchmarkColdStart(b *testing.B) {
	if runtime.GOOS != "linux" {
		harness.Missing(b, "resident memory is read from /proc, which only Linux has")
	}
	for _, function := range []string{"clients", "webhook", "register", "reconcile", "effects"} {
		b.Run(function, func(b *testing.B) {
			target, request, variables := "Hello", firstRequest{method: http.MethodGet, path: "/"}, []string(nil)
			if _, ours := functions[function]; ours {
				target, request = functions[function], firstRequests[function]
				variables = append(environment(b, function, nil), nowhere...)
			}
			var own, hellos sample
			for b.Loop() {
				own.add(b, build(b, function).binary, target, request.method, request.path, request.body, variables)
				hellos.add(b, build(b, "hello").binary, "Hello", http.MethodGet, "/", "", nil)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(own.milliseconds), "ms")
			b.ReportMetric(median(own.milliseconds)/median(hellos.milliseconds), "x-hello-time")
			b.ReportMetric(median(own.processor), "cpu-ms")
			b.ReportMetric(median(own.processor)/median(hellos.processor), "x-hello-cpu")
			b.ReportMetric(median(own.megabytes), "MB")
			b.ReportMetric(median(own.megabytes)/median(hellos.megabytes), "x-hello-memory")
		})
	}
}

// A sample holds the measurements of several starts of one program.
type sample struct{ milliseconds, processor, megabytes []float64 }

func (s *sample) add(b *testing.B, binary, target, method, path, body string, variables []string) {
	b.Helper()
	began := time.Now()
	started := start(b, binary, target, variables...)
	started.first(b, method, path, body)
	s.milliseconds = append(s.milliseconds, float64(time.Since(began).Microseconds())/1000)
	s.megabytes = append(s.megabytes, resident(b, started.command.Process.Pid))
	started.stop()
	used := started.command.ProcessState
	s.processor = append(s.processor, float64((used.UserTime()+used.SystemTime()).Microseconds())/1000)
}

// resident returns a process's resident memory in MB.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kilobytes float64
	if _, err := fmt.Sscanf(rest, "%f kB", &kilobytes); err != nil {
		b.Fatalf("reading the resident memory: %v", err)
	}
	return kilobytes / 1024
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
