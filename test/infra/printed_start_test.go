package infra_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	"github.com/opledger/opledger/functions/effects"
)

// usable are settings that every function accepts, with a store that cannot be reached.
func usable(w *world) []string {
	return []string{
		"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_TOPIC=effects", "GEMINI_API_KEY=key", "OPLEDGER_WEBHOOK_SECRET=" + secret,
		"GOOGLE_APPLICATION_CREDENTIALS=" + filepath.Join(w.TempDir(), "none.json"),
	}
}

// start starts this program as a deployed function, and keeps its output as that function's.
func (w *world) start(function, target string, env ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(env, "FUNCTION_TARGET="+target, "GORACE=atexit_sleep_ms=0")
	printed, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	for line := range bytes.Lines(printed) {
		fields := map[string]any{}
		if err := json.Unmarshal(line, &fields); err != nil {
			w.Errorf("%s printed %s: %v", target, line, err)
		}
		w.extra[function] = append(w.extra[function], fields)
	}
}

// serveOnce serves the deployed function behind the framework, and ends the process after the first
// answer.
func serveOnce() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address := listener.Addr().String()
	listener.Close()
	go func() {
		for !ask("http://" + address) { // until it is served
		}
		os.Exit(0)
	}()
	host, port, _ := strings.Cut(address, ":")
	fmt.Fprintln(os.Stderr, funcframework.StartHostPort(host, port))
	os.Exit(3)
}

// ask sends a request that each of the functions accepts, and reports whether it was answered.
func ask(url string) bool {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		panic(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Ce-Id": {"7"}, "Ce-Source": {"test"}, "Ce-Specversion": {"1.0"},
		"Ce-Type": {effects.EventType},
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	response.Body.Close()
	return true
}

var targets = map[string]string{"webhook": "Webhook", "register": "Register", "reconcile": "Reconcile",
	"effects": "Effects"}

func ofStarts() []situation {
	var all []situation
	for function, target := range targets {
		all = append(all,
			situation{function + ": settings that are wrong", func(w *world) {
				w.start(function, target, append(usable(w), "GOOGLE_CLOUD_PROJECT=")...)
			}, []string{"not-started"}},
			situation{function + ": settings that name what is not there", func(w *world) {
				w.start(function, target, usable(w)...)
			}, []string{"not-started"}})
	}
	return all
}
