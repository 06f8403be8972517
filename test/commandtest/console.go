package commandtest

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// A Pressed is a request that acts, for a test's table.
type Pressed struct{ Do, Key, Effect string }

var hidden = regexp.MustCompile(`name="([a-z]+)" value="([^"]*)"`)

// Send posts a form to a console, and returns the status and the page.
func Send(t *testing.T, address string, form url.Values, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", address+"/console/ask",
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// Form returns the form of the question before an action.
func (p Pressed) Form(t *testing.T, address string) url.Values {
	t.Helper()
	code, page := Fetch(t, "GET", address+"/console/ask?"+url.Values{
		"do": {p.Do}, "key": {p.Key}, "effect": {p.Effect}}.Encode(), "")
	if code != http.StatusOK {
		t.Fatalf("%v: %d %s", p, code, page)
	}
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	if form.Has("why") {
		form.Set("why", "by hand")
	}
	return form
}

// ConsoleOver runs the console command on a file in this process, and returns its address. stop
// returns stderr.
func ConsoleOver(t *testing.T, f File, variables []string, args ...string) (url string, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, writes := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := root.Run(ctx, append([]string{"console", "--port", "0", "--store", f.Store()}, args...),
			terminal.Environment{Variables: variables, Out: writes, Err: &stderr})
		_ = writes.Close() // a pipe's end has no error
		ended <- code
	}()
	stop = func() string {
		cancel()
		if code := <-ended; code != terminal.ExitDone {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
		return stderr.String()
	}
	lines := bufio.NewScanner(out)
	found := []string{}
	if lines.Scan() {
		found = regexp.MustCompile(`^the console is on (http://127\.0\.0\.1:\d+), for this machine alone` +
			`(; actions are allowed)?; `).FindStringSubmatch(lines.Text())
	}
	if len(found) != 3 {
		t.Fatalf("it says %q: %s", lines.Text(), stop())
	}
	return found[1], stop
}

// Fetch returns the status and the body of a page.
func Fetch(t *testing.T, method, url, host string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
