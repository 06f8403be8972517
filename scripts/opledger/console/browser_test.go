package console

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestBrowserPages: in a real browser every page fits a desktop and a phone, is accessible, asks no
// other host, runs no text from outside, and makes no complaint. A short run has the overview, a list, what a list
// leads to, the settings and a question; the gate has each page.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	w := acting(t)
	b := newBrowser(w, w.console)
	short := []string{"/", "/console/operations", "/console/operation", "/console/settings", askPath}
	seen := map[string]bool{}
	for _, address := range append(addresses, everyAction[1].address()) {
		path, _, _ := strings.Cut(address, "?")
		if seen[path] && os.Getenv("OPLEDGER_SCREENSHOTS") == "" { // one page of each kind is enough to test
			continue
		}
		if seen[path] = true; harness.Thorough(t) || slices.Contains(short, path) {
			b.fits(address)
		}
	}
	if b.fitted < len(short) {
		t.Errorf("%d pages were tested, want at least %d: %v", b.fitted, len(short), slices.Sorted(maps.Keys(seen)))
	}
}

// TestBrowserJobs: the same of the pages of a job: its own, and one of a part. The gate has one of a batch, its parts,
// and a question about a part besides.
func TestBrowserJobs(t *testing.T) {
	t.Parallel()
	w := acting(t)
	b := newBrowser(w, w.console)
	chosen := []string{jobAddresses[0], jobAddresses[3]}
	if harness.Thorough(t) {
		for _, i := range []int{1, 2, 4, 7, 8} { // jobs and a part in other states, too
			chosen = append(chosen, jobAddresses[i])
		}
		chosen = append(chosen, asked{do: release, key: "jobs/nightly/00002"}.address())
	}
	for _, address := range chosen {
		b.fits(address)
	}
}

// TestBrowserPlaybook: the playbook that the overview links is shown, fits, and leads to others.
func TestBrowserPlaybook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	b := newBrowser(w, w.console)
	b.do(chromedp.Navigate(b.server+"/"), chromedp.Click(chromedp.CSS(`a[href="/console/playbook?key=effects-dead"]`)))
	b.shows("It is kept, with its record, until an operator acts")
	b.do(chromedp.Click(chromedp.CSS(`article a[href="/console/playbook?key=overdue"]`)))
	b.shows("Something has been due for too long")
	b.fits(playbookAddress(playbookIndex))
	if harness.Thorough(t) { // it has the same template
		b.fits(playbookAddress("effects-dead"))
	}
}

// TestPlaybookLinks: a link of a playbook leads to another one's page, or to what the console does not have.
func TestPlaybookLinks(t *testing.T) {
	t.Parallel()
	const page = "/console/playbook?key=overdue"
	for to, want := range map[string]string{
		"overdue.md": page, "overdue.md#look": page, "#look": "#look", "https://a.example/b.md": "https://a.example/b.md",
		"../prometheus/README.md":    projectFiles + "infra/prometheus/README.md",
		"../../shared/RULES.md#find": projectFiles + "shared/RULES.md#find",
	} {
		if got := playbookLink(to); got != want {
			t.Errorf("%s leads to %s, want %s", to, got, want)
		}
	}
}

// TestBrowserLost: a page whose connection is lost says so above what it shows, and since when; the title of the tab
// has how much needs an operator. When the connection is back it says nothing.
func TestBrowserLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	var down atomic.Bool
	streams, cut := context.WithCancel(t.Context())
	defer cut()
	b := newBrowser(w, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if down.Load() && r.URL.Query().Has("live") {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Query().Has("live") && streams.Err() == nil {
			ctx, end := context.WithCancel(r.Context())
			defer context.AfterFunc(streams, end)()
			defer end()
			r = r.WithContext(ctx)
		}
		w.console.ServeHTTP(rw, r)
	}))
	b.do(chromedp.Navigate(b.server + "/"))
	b.contains("#live-state", "Live")
	needs := value[string](b, `document.querySelector("[data-needs]").dataset.needs`)
	if title := value[string](b, "document.title"); needs == "0" || title != "("+needs+") Overview · opledger" {
		t.Errorf("%s need an operator, and the title is %q", needs, title)
	}
	down.Store(true)
	cut()
	b.contains("#stale", "The connection is lost; it is tried again. This page shows ")
	if !value[bool](b, `document.body.classList.contains("frozen")`) {
		t.Error("the times are not marked")
	}
	down.Store(false)
	b.do(chromedp.WaitNotVisible(chromedp.CSS("#stale")))
	if b.contains("#live-state", "Live"); value[bool](b, `document.body.classList.contains("frozen")`) {
		t.Error("the times are marked, although the connection is back")
	}
}

// TestBrowserSilent: a page to which a server sends nothing any more says so as for a lost connection, and
// neither it nor the title of its tab says that nothing needs an operator. Once the server goes on, it is live again.
func TestBrowserSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.console.options.Silence = time.Second
	var hung sync.RWMutex // held: the server stands still, and its connections stay open
	b := newBrowser(w, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		hung.RLock()
		//lint:ignore SA2001 to wait is all
		hung.RUnlock()
		if r.URL.Query().Has("live") {
			rw = halting{rw, &hung}
		}
		w.console.ServeHTTP(rw, r)
	}))
	const right = "Nothing needs an operator now."
	b.do(chromedp.Navigate(b.server + "/"))
	b.shows(right)
	b.contains("#live-state", "Live")
	hung.Lock()
	resume := sync.OnceFunc(hung.Unlock)
	defer resume()
	b.contains("#stale", "The connection is lost; it is tried again. This page shows ")
	b.contains("#live-state", "Not live")
	b.shows("What needs one now is not known.")
	b.contains("title", "(?) Overview · opledger")
	if main := value[string](b, `document.querySelector("main").innerText`); strings.Contains(main, right) {
		t.Errorf("the page without a connection says %q", main)
	}
	if harness.Thorough(t) { // it is the overview with a line more
		value[any](b, axe+"; 0")
		b.accessible("without a connection", `{resultTypes: ["violations"]}`)
	}
	resume()
	b.do(chromedp.WaitNotVisible(chromedp.CSS("#stale")))
	b.shows(right)
	b.contains("#live-state", "Live")
}

// A halting response writes nothing while its server stands still.
type halting struct {
	http.ResponseWriter
	hung *sync.RWMutex
}

func (h halting) Write(event []byte) (int, error) {
	h.hung.RLock()
	defer h.hung.RUnlock()
	return h.ResponseWriter.Write(event)
}

// Unwrap is for the http.ResponseController, which flushes.
func (h halting) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// TestBrowserLive: an open page shows what changes, keeps the keyboard's focus, and can be paused.
func TestBrowserLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(w, w.console)
	b.do(chromedp.Navigate(b.server+"/console/intents"), chromedp.WaitVisible(chromedp.CSS(".empty")),
		chromedp.Focus(chromedp.CSS(".search input")))
	_, err := w.Intents.Intend(t.Context(), ledger.Intention{Submission: operation.Submission{CorrelationID: "night-4"}})
	w.do(err)
	b.shows("night-4")
	if focused := value[string](b, "document.activeElement.name"); focused != "q" {
		t.Errorf("the focus went to %q", focused)
	}
	b.do(chromedp.Click(chromedp.CSS("#live-pause")),
		chromedp.WaitVisible(chromedp.CSS(`#live-pause[aria-pressed="true"]`)))
	w.until(func() bool { return w.console.live.count() == 0 })
	b.do(chromedp.Click(chromedp.CSS("#live-pause")),
		chromedp.WaitVisible(chromedp.CSS(`#live-pause[aria-pressed="false"]`)))
	w.until(func() bool { return w.console.live.count() == 1 })
	b.do(chromedp.SetValue(chromedp.CSS(".search input"), "night-4"), chromedp.Submit(chromedp.CSS(".search")))
	b.shows("not found yet")
	b.quiet("live")
}

// TestBrowserLate: a page is live however late its scripts arrive. Here the last one arrives after htmx
// has done all that it puts off.
func TestBrowserLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waited := make(chan struct{})
	b := newBrowser(w, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waited":
			close(waited)
			return
		case "/console/static/htmx.min.js":
			script := httptest.NewRecorder()
			w.console.ServeHTTP(script, r)
			fmt.Fprint(rw, script.Body, ";setTimeout(() => fetch('/waited'))")
			return
		case "/console/static/hx-sse.min.js":
			select {
			case <-waited:
			case <-r.Context().Done():
			}
		}
		w.console.ServeHTTP(rw, r)
	}))
	b.do(chromedp.Navigate(b.server + "/console/intents"))
	w.until(func() bool { return w.console.live.count() == 1 })
	b.contains("#live-state", "Live")
	b.quiet("late")
}

// TestBrowserAction: by the keyboard alone an operator runs a dead effect again: the button, the
// question, the answer, and the page that then shows it open.
func TestBrowserAction(t *testing.T) {
	t.Parallel()
	w := acting(t)
	b := newBrowser(w, w.console)
	press := func(selector string) {
		t.Helper()
		value[any](b, fmt.Sprintf("document.querySelector(%q).focus(); 0", selector)) // in one step: the page is live
		b.do(chromedp.KeyEvent("\r"))
	}
	b.do(chromedp.Navigate(b.server + "/console/operation?key=batches%2Fdead"))
	b.shows("Effect publish is dead")
	press(`.problem .remedy a.button`)
	b.shows("Run publish of batches/dead again?")
	b.shows("keeps its idempotency key")
	press(`form.question button`)
	b.shows("effect publish of batches/dead was started by this process")
	press(`main a.button`)
	b.shows("replayed by ada")
	b.do(chromedp.WaitNotPresent(chromedp.CSS(".problem")))
	b.quiet("an action")
}
