package console

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// Options are what a console shows, and how.
type Options struct {
	Ledger ledger.Reading
	// Actions are what the pages act with; nil: they only read, and nothing here can write.
	Actions *actions.Actions
	// Effects holds what the words about effects depend on. Its Now is set by each page.
	Effects phrase.EffectView
	// Location is where the ledger is, such as "sqlite:demo.db".
	Location config.Store
	// Version says which build shows the pages; empty: they do not say it.
	Version string
	// Rules are the names of the effects that the workers can perform; nil: they are not known.
	Rules []string
	// Paused reports whether effects are paused by this process; nil: Effects says so.
	Paused func() bool
	// Serve returns what is known of the serve that works on the ledger; nil: nothing is.
	Serve func(context.Context) overview.Serve
	// Receivers are the hosts that get effects, as far as the settings name them, by the effect's name.
	Receivers map[string]string
	// Settings are what this process decides by, in the order in which they are shown.
	Settings []config.Described
	// Interval is that between two reconcile passes: what is late follows from it.
	Interval time.Duration
	// Most is how many documents of each list the overview reads, and Ends how many of the newest
	// completions. Both must be positive.
	Most, Ends int
	// Parts is how many parts of a job its page reads, and OpenParts how many of the open ones the list of jobs reads of
	// each. Both must be positive.
	Parts, OpenParts int
	// Every is how often a page that is being watched is read again. It must be positive.
	Every time.Duration
	// Silence is how long such a page hears nothing before it says that the connection is lost. It must be longer than
	// Every, by what reading a page may take.
	Silence time.Duration
	Log     *slog.Logger
}

// Options.Most and Options.Ends over Firestore, which charges for every document: with them no page
// costs more than 60 reads.
const (
	FirestoreMost = 4
	FirestoreEnds = 6
)

// Limited returns the options with the limits that fit their ledger: a page of a SQLite file costs
// nothing.
func (o Options) Limited() Options {
	o.Most, o.Ends, o.Every, o.Silence = FirestoreMost, FirestoreEnds, 30*time.Second, 90*time.Second
	o.Parts, o.OpenParts = rows, 1
	if o.Location.IsFile() {
		o.Most, o.Ends, o.Every, o.Silence = 100, 50, 2*time.Second, 10*time.Second
		o.Parts, o.OpenParts = 1000, job.MostBatches
	}
	return o
}

// A Console serves the pages at / and below /console/.
type Console struct {
	options Options
	ledger  ledger.Reading
	mux     *http.ServeMux
	live    *live
	asks    func() *template.Template // of the answers to questions
	answers answers
	runs    *runs
}

//go:embed static
var static embed.FS

// New returns a console. It reads nothing until a page is requested.
func New(o Options) *Console {
	c := &Console{
		options: o, ledger: o.Ledger, mux: http.NewServeMux(), live: newLive(o.Every), asks: sync.OnceValue(asking.templates),
		runs: newRuns(),
	}
	for _, p := range pages {
		c.mux.Handle("GET "+p.pattern, c.handler(p))
	}
	if o.Actions != nil {
		c.mux.Handle("GET "+askPath, c.handler(asking))
		c.mux.HandleFunc("POST "+askPath, c.answer)
	}
	c.mux.HandleFunc("GET /console/search", c.search)
	c.mux.HandleFunc("GET /console/static/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, static, "static/"+r.PathValue("file"))
	})
	return c
}

// Close ends every stream, so that the server behind which the console stands can shut down, and the actions
// that run. What they have asked for goes on.
func (c *Console) Close() {
	c.live.close()
	c.runs.close()
}

// policy is the content security policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// SetHeaders sets the headers of every answer: no page of another origin may embed it or read it.
func SetHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// ServeHTTP answers a request for a page, its stream or a file.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	SetHeaders(w.Header())
	c.mux.ServeHTTP(w, r)
}
