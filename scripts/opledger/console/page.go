package console

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/operation"
)

// A page is one row of the table of pages.
type page struct {
	pattern string // of its path
	title   string
	file    string // the template of its main part
	// load reads what the template shows. It may return both: what it read, and the error that kept
	// it from reading the rest.
	load func(*Console, *request) (any, error)
	// apart: it needs no ledger.
	apart bool
	// under is the path of the page that the navigation shows for it; empty: its own.
	under string
}

// operationsPath is the path of the list of operations.
const operationsPath = "/console/operations"

// pages are all pages, in the order of the navigation. A page without a title is not in it.
var pages = []page{
	{"/{$}", "Overview", "overview.html", loadOverview, false, ""},
	{jobsPath, "Jobs", "jobs.html", loadJobs, false, ""},
	{operationsPath, "Operations", "operations.html", loadOperations, false, ""},
	{"/console/operation", "", "operation.html", loadOperation, false, operationsPath},
	{partsPath, "", "job_parts.html", loadParts, false, jobsPath},
	{"/console/effects", "Effects", "effects.html", loadEffects, false, ""},
	{receiversPath, "Receivers", "receivers.html", loadReceivers, false, ""},
	{runPath, "", "run.html", loadRun, true, receiversPath},
	{"/console/intents", "Intents", "intents.html", loadIntents, false, ""},
	{"/console/intent", "", "intent.html", loadIntent, false, "/console/intents"},
	{"/console/quarantine", "Quarantine", "quarantine.html", loadQuarantine, false, ""},
	{"/console/quarantined", "", "quarantined.html", loadQuarantined, false, "/console/quarantine"},
	{"/console/passes", "Passes", "passes.html", loadPasses, false, ""},
	{playbookPath, "", "playbook.html", loadPlaybook, true, "/"},
	{"/console/settings", "Settings", "settings.html", loadSettings, true, ""},
}

// asking is the page of a question before an action.
var asking = page{askPath, "", "ask.html", loadQuestion, false, ""}

// A request is what a page is loaded for.
type request struct {
	context.Context
	query url.Values
	now   time.Time // the store's
}

//go:embed pages
var files embed.FS

// templates parses the templates of a page: those that every page shares, and its own main part. It is called when the
// page is first shown: to parse those of all pages took most of the time in which serve starts.
func (p page) templates() *template.Template {
	return template.Must(template.New("layout.html").Funcs(functions).
		ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/job.html", "pages/"+p.file))
}

// A shown is what the layout is executed with.
type shown struct {
	Title   string
	Path    string // of the page, for the navigation
	Inside  bool   // the page is one behind that path
	Address string // of the page's stream; empty: it has none
	Silence int64  // Options.Silence in milliseconds
	Query   string // of the search
	Main    main
	// What write fills in: what the layout shows of the console itself.
	Location config.Store
	Version  string
	Pages    []page
	Acts     bool // actions are allowed
}

// A main is what a page's main part is executed with.
type main struct {
	Now     time.Time
	Heading string // of the error
	Error   string // why a part is missing, or all; empty: nothing is
	// StoreFailed: the ledger could not be read, and may be soon.
	StoreFailed bool
	Data        any // of the page's own type; nil where nothing could be read
}

// Title is what the navigation calls the page.
func (p page) Title() string { return p.title }

// Path is the path of the page.
func (p page) Path() string {
	if p.pattern == "/{$}" {
		return "/"
	}
	return p.pattern
}

// pageTime bounds the reading of one page.
const pageTime = 20 * time.Second

// handler answers with the page, or with the stream of its main part.
func (c *Console) handler(p page) http.Handler {
	templates := sync.OnceValue(p.templates)
	load := func(ctx context.Context, query url.Values) (main, int) {
		ctx, cancel := context.WithTimeout(ctx, pageTime)
		defer cancel()
		return c.load(ctx, p, query)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Has("live") {
			query.Del("live")
			if !c.updates(p, query) {
				w.WriteHeader(http.StatusNoContent) // an EventSource does not come back after it
				return
			}
			address := p.Path() + "?" + query.Encode()
			c.live.serve(w, r, address, c.every(p), func(ctx context.Context) []byte {
				m, _ := load(ctx, query)
				return c.render(templates(), "main", m)
			})
			return
		}
		m, status := load(r.Context(), query)
		address := p.Path() + "?" + withLive(query)
		if status != http.StatusOK && status != http.StatusServiceUnavailable || !c.updates(p, query) {
			address = "" // nothing to wait for
		}
		c.write(w, templates(), status, shown{
			Title: titled(cmp.Or(p.title, query.Get(theKey)), m.Data), Path: p.section(query), Inside: p.under != "",
			Address: address, Silence: c.options.Silence.Milliseconds(), Query: query.Get("q"), Main: m,
		})
	})
}

// section is the path of the page that the navigation shows for this one. A job has a list of its own.
func (p page) section(query url.Values) string {
	key := query.Get(theKey)
	_, _, isPart := operation.ParsePart(key)
	if p.under == operationsPath && (isPart || operation.Key(key).Collection() == operation.Jobs) {
		return jobsPath
	}
	return cmp.Or(p.under, p.Path())
}

// updates reports whether the page has a stream. A form has none, nor what costs too much to read again.
func (c *Console) updates(p page, query url.Values) bool {
	switch p.pattern {
	case askPath, playbookPath:
		return false
	case operationsPath:
		return counted(query)
	case receiversPath:
		return c.options.Location.IsFile()
	default:
		return true
	}
}

// every is how often the page is read again while it is watched.
func (c *Console) every(p page) time.Duration {
	if p.pattern == runPath {
		return min(runEvery, c.options.Every)
	}
	return c.options.Every
}

// titled is the title of a page, with how much needs an operator where the page says it.
func titled(title string, data any) string {
	if named, ok := data.(interface{ PageTitle() string }); ok {
		return named.PageTitle()
	}
	if counts, ok := data.(interface{ Needs() int }); ok && counts.Needs() > 0 {
		return fmt.Sprintf("(%d) %s", counts.Needs(), title)
	}
	return title
}

// write answers with a whole page.
func (c *Console) write(w http.ResponseWriter, t *template.Template, status int, s shown) {
	s.Location, s.Version, s.Pages = c.options.Location, c.options.Version, pages
	s.Acts = c.options.Actions != nil
	body := c.render(t, "layout.html", s)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // it fails where the client has disconnected
}

// theKey is the query parameter that names what a page without a title is about.
const theKey = "key"

func withLive(query url.Values) string {
	with := url.Values{"live": {"1"}}
	maps.Copy(with, query)
	return with.Encode()
}

// load reads a page, and returns the status of the answer.
func (c *Console) load(ctx context.Context, p page, query url.Values) (main, int) {
	now, err := c.ledger.Now(ctx)
	m := main{Now: now}
	if p.apart {
		err = nil
	}
	if err == nil {
		m.Data, err = p.load(c, &request{Context: ctx, query: query, now: now})
	}
	if err == nil {
		return m, http.StatusOK
	}
	m.Error, m.Heading = err.Error(), "Not everything can be shown."
	status := statusOf(err, http.StatusServiceUnavailable)
	left := ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded)
	m.StoreFailed = status == http.StatusServiceUnavailable
	if m.StoreFailed && !left {
		c.options.Log.WarnContext(ctx, "a page of the console is incomplete", "event", "console", "page", p.Path(),
			"error", err)
	}
	if heading, ok := headings[status]; ok {
		m.Heading = heading
	}
	if status == http.StatusNotFound {
		m.Heading = p.missing()
	}
	return m, status
}

// headings are what an error is shown under, beside those of the store.
var headings = map[int]string{
	http.StatusBadRequest: "This page cannot be shown.", http.StatusConflict: "It has changed.",
}

// missing says what the ledger does not have.
func (p page) missing() string {
	switch p.pattern {
	case "/console/intent":
		return "No intent has that correlation id."
	case "/console/quarantined":
		return "No delivery in quarantine has that id."
	case partsPath:
		return "No job has that name."
	default:
		return "No operation has that name."
	}
}

// A badRequest is a query that a page does not understand. Its text says what it understands.
type badRequest struct{ error }

func bad(format string, args ...any) error { return badRequest{fmt.Errorf(format, args...)} }

// render executes a template, and makes what comes of it printable. Its data are this package's own
// types, so a failure is a defect.
func (c *Console) render(t *template.Template, name string, data any) []byte {
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, name, data); err != nil {
		c.options.Log.Error("a page of the console cannot be rendered", "event", "console", "error", err)
		return []byte("<p>This page cannot be rendered; the log says why.</p>")
	}
	return printable(out.Bytes())
}
