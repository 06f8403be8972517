package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/logging"
)

// routes returns the handler of a listener: the public routes, and all others behind the guard.
func (s *Server) routes(listener net.Listener) http.Handler {
	guard, mux := s.guard.on(listener), http.NewServeMux()
	s.handleWebhook(mux)
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /ready", s.ready)
	mux.Handle("/effects", guard.protect(s.effects, guard.checkOrigin, guard.admitPush))
	for _, path := range []string{"/reconcile", "/sweep", "/resume", "/unperformable", "POST " + operationsPath} {
		mux.Handle(path, guard.protect(s.inside, guard.checkOrigin, guard.admitCommand))
	}
	if s.console != nil {
		pages := guard.visitors(s.console)
		mux.Handle("GET /{$}", pages)
		mux.Handle("/console/", pages)
	}
	mux.Handle("/", guard.protect(s.inside, guard.checkOrigin, guard.admitCaller))
	return mux
}

// deliveries returns the handler of /webhook alone.
func (s *Server) deliveries() http.Handler {
	mux := http.NewServeMux()
	s.handleWebhook(mux)
	mux.HandleFunc("/", notFound("POST /webhook alone"))
	return mux
}

func (s *Server) handleWebhook(mux *http.ServeMux) {
	if s.webhook != nil {
		mux.Handle("/webhook", s.webhook)
	}
}

// notFound answers 404, and names the routes that exist.
func notFound(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		httpfunc.WriteError(w, httpfunc.Errorf(http.StatusNotFound, "%s is not here; %s", r.URL.Path, what))
	}
}

// listeners are the HTTP servers of a Server, one for each net.Listener.
type listeners struct {
	servers []*http.Server
	failed  chan error // has a buffer for all, and for watchFile
}

// listen starts a server on every net.Listener. Requests end with ctx.
func (s *Server) listen(ctx context.Context, listener net.Listener, webhooks []net.Listener) listeners {
	all := listeners{failed: make(chan error, 3+len(webhooks))}
	ports := 1 + len(webhooks)
	if s.options.Metrics != nil {
		ports++
	}
	most := connectionsOf(ports)
	serve := func(l net.Listener, h http.Handler) {
		server := &http.Server{
			Handler:           withUnreadBody(withTrace(withHeaders(h))),
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       time.Minute,
			ConnState:         newConnections(most, s.options.Now, s.options.Log).track,
			ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelWarn),
		}
		if s.console != nil {
			server.RegisterOnShutdown(s.console.Close)
		}
		all.servers = append(all.servers, server)
		go func() { all.failed <- fmt.Errorf("serving on %s: %w", l.Addr(), server.Serve(l)) }()
	}
	serve(listener, s.routes(listener))
	for _, l := range webhooks {
		serve(l, s.deliveries())
	}
	if l := s.options.Metrics; l != nil {
		serve(l, s.counted(l))
	}
	return all
}

// counted returns the handler of /metrics and /alerts.yml. It needs no token: a scraper must not hold the one that
// opens every route. On loopback no page of another origin reads it; beyond that every caller may.
func (s *Server) counted(listener net.Listener) http.Handler {
	h := s.metrics.Handler(s.settings.Ledger.Interval, s.options.Log)
	if guard := s.guard.on(listener); !guard.exposed {
		return guard.protect(h, guard.checkOrigin)
	}
	return h
}

// unreadTime is how long what a handler left of a body may take to arrive, so that its sender reads the
// answer.
const unreadTime = time.Second

// withUnreadBody keeps a request whose body no handler reads, such as a refused one, from holding its
// connection: an http.Server waits for that body after its answer [W7].
func withUnreadBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // until httpfunc has read it all
		next.ServeHTTP(w, r)
		if w.Header().Get("Connection") == "close" {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTime))
		}
	})
}

// withTrace puts a request's trace into its context, for the log.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx := logging.WithTrace(r); ctx != r.Context() { // to copy a request costs more than to look for one
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// withHeaders keeps every answer from being embedded in, or read by, a page of another origin.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		console.SetHeaders(w.Header())
		next.ServeHTTP(w, r)
	})
}

// shutdown accepts no more requests, and waits for those in progress for a time; then it cuts them
// off.
func (l listeners) shutdown(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ended := make(chan error, len(l.servers))
	for _, server := range l.servers {
		go func() {
			err := server.Shutdown(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = server.Close()
			}
			ended <- err
		}()
	}
	var err error
	for range l.servers {
		err = errors.Join(err, <-ended)
	}
	return err
}

// close cuts every request off.
func (l listeners) close() error {
	var err error
	for _, server := range l.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}
