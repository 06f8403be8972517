package console

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/opledger/opledger/test/harness"
)

// axe finds what a screen reader or a keyboard cannot use. testdata/axe.LICENSE is its licence.
//
//go:embed testdata/axe.min.js
var axe string

// A browser is a real one, and what it complained about.
type browser struct {
	testing.TB
	ctx    context.Context
	server string
	fitted int // pages

	mu       sync.Mutex
	problems []string
}

// chromium is one process for all tests. Each has a window of its own, since a hidden tab is not live, and leaves it to
// another: to open one takes chromium a second of processor time.
var chromium struct {
	sync.Mutex
	ctx  context.Context
	stop func()
	left []context.Context // windows, empty
}

func TestMain(m *testing.M) { os.Exit(runMain(m)) }

func runMain(m *testing.M) int {
	harness.SpendMemory()
	defer func() {
		if chromium.stop != nil {
			chromium.stop()
		}
	}()
	return m.Run()
}

// startChromium starts the one process, or returns it.
func startChromium(path string) (context.Context, error) {
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx != nil {
		return chromium.ctx, nil
	}
	// Pages share two processes that render: else there is one for each page that is opened, and one ahead of it.
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("renderer-process-limit", "2"))...)
	ctx, leave := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		leave()
		stop()
		return nil, err
	}
	chromium.ctx, chromium.stop = ctx, func() { leave(); stop() }
	return ctx, nil
}

// window takes one that a test has left, or opens one.
func window(process context.Context) (context.Context, error) {
	chromium.Lock()
	if last := len(chromium.left) - 1; last >= 0 {
		defer chromium.Unlock()
		ctx := chromium.left[last]
		chromium.left = chromium.left[:last]
		return ctx, nil
	}
	chromium.Unlock()
	// It ends with its process, and would end with the context of its first step.
	ctx, _ := chromedp.NewContext(process, chromedp.WithNewBrowserContext())
	return ctx, chromedp.Do(ctx)
}

// newBrowser opens a console, or a handler in front of it, in a window of Chromium. Where there is no
// Chromium, the test is skipped, or fails with OPLEDGER_REQUIRE_EMULATORS=1.
func newBrowser(w *world, handler http.Handler) *browser {
	w.Helper()
	path := harness.Program(w, "chromium", "the pages are not tested in a browser")
	server := httptest.NewServer(handler)
	w.Cleanup(server.Close)
	w.Cleanup(w.console.Close) // before it: the server waits for the streams
	process, err := startChromium(path)
	if err != nil {
		w.Fatal(err)
	}
	window, err := window(process)
	if err != nil {
		w.Fatal(err)
	}
	ctx, leave := context.WithCancel(window) // of what listens, too
	b := &browser{TB: w.TB, ctx: ctx, server: server.URL}
	w.Cleanup(func() {
		leave()
		if w.Failed() {
			return // with a page that may hang
		}
		if err := chromedp.Do(window, chromedp.Navigate("about:blank")); err != nil {
			w.Fatal(err)
		}
		chromium.Lock()
		defer chromium.Unlock()
		chromium.left = append(chromium.left, window)
	})
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		w.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.scheme("light")
	return b
}

// listen notes every complaint, and every request to another host.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	note := func(format string, args ...any) { b.problems = append(b.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			note("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		note("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			note("console.%s: %v", e.Type, e.Args)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.server) {
			note("a request to %s", e.Request.URL)
		}
	case *protocol.EventJavascriptDialogOpening:
		note("a dialog: %s", e.Message)
	}
}

// do runs steps, for at most two minutes.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// value is what a script returns, once its promise is kept.
func value[T any](b *browser, script string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// shows waits until the page's main part contains a text.
func (b *browser) shows(text string) {
	b.Helper()
	b.contains("main", text)
}

// contains waits until a part of the page contains a text. A page that is being left has no parts.
func (b *browser) contains(part, text string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	script := fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q) ?? false", part, text)
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](script))
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			b.Fatalf("%s does not show %q: %v", part, text, err)
		}
	}
}

// quiet fails the test for every complaint since the last call.
func (b *browser) quiet(where string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		b.Errorf("%s: %s", where, problem)
	}
	b.problems = nil
}

// fits fails the test unless a page fits a desktop and a phone, and is accessible: in the light, and its colours also
// in the dark. In a short run pages take turns, and every other is seen in the dark alone; the gate sees each in both.
func (b *browser) fits(address string) {
	b.Helper()
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.server+address),
		chromedp.WaitVisible(chromedp.CSS("h1")))
	value[any](b, axe+"; 0")
	const everything = `{resultTypes: ["violations"]}`
	both := harness.Thorough(b) || os.Getenv("OPLEDGER_SCREENSHOTS") != ""
	light := b.fitted%2 == 0
	b.fitted++
	if light || both {
		b.accessible(address, everything)
	}
	if !light || both {
		b.scheme("dark")
		rules := everything
		if both {
			rules = `{runOnly: ["color-contrast"]}` // the others find the same in the dark
		}
		b.accessible(address+" in the dark", rules)
	}
	b.screenshot(address+"&dark", 1280)
	b.scheme("light")
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		if wide := value[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			b.Errorf("%s is %d pixels too wide for %d", address, wide, width)
		}
		b.screenshot(address, width)
	}
	b.quiet(address)
}

// accessible runs axe, with these options, and fails the test for each finding.
func (b *browser) accessible(where, options string) {
	b.Helper()
	for _, finding := range value[[]string](b, `axe.run(`+options+`).then(found => found.violations
		.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" ")))`) {
		b.Errorf("%s: %s", where, finding)
	}
}

// scheme makes the page believe that the operator prefers light or dark.
func (b *browser) scheme(name string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// screenshot keeps a picture of the page in the folder OPLEDGER_SCREENSHOTS, if that is set.
func (b *browser) screenshot(address string, width int64) {
	dir := os.Getenv("OPLEDGER_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	name := fmt.Sprintf("%s-%d.png", strings.NewReplacer("/", "_", "?", "_", "=", "_", "%2F", "_", "&", "_").
		Replace(address), width)
	if err := os.WriteFile(filepath.Join(dir, name), picture, 0o600); err != nil {
		b.Error(err)
	}
}
