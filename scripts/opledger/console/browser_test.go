package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestBrowserPages: in a real browser every page fits a desktop and a phone, is accessible, asks no
// other host, runs no text from outside, and makes no complaint.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	w := acting(t)
	b := newBrowser(w, w.console)
	seen := map[string]bool{}
	for _, address := range append(addresses, everyAction[1].address()) {
		path, _, _ := strings.Cut(address, "?")
		if seen[path] && os.Getenv("OPLEDGER_SCREENSHOTS") == "" { // one page of each kind is enough to test
			continue
		}
		seen[path] = true
		b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(b.server+address),
			chromedp.WaitVisible(chromedp.CSS("h1")))
		value[any](b, axe+"; 0")
		b.accessible(address, `{resultTypes: ["violations"]}`)
		b.scheme("dark")
		b.accessible(address+" in the dark", `{runOnly: ["color-contrast"]}`)
		b.screenshot(address+"&dark", 1280)
		b.scheme("light")
		for _, width := range []int64{1280, 390} {
			b.do(chromedp.EmulateViewport(width, 900))
			if wide := value[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				t.Errorf("%s is %d pixels too wide for %d", address, wide, width)
			}
			b.screenshot(address, width)
		}
		b.quiet(address)
	}
}

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
