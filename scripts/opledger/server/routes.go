package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/logging"
)

// routes returns what is answered on a listener: the public routes, and behind the guard all others.
func (s *Server) routes(listener net.Listener) http.Handler {
	guard, mux := s.guard.on(listener), http.NewServeMux()
	s.deliver(mux)
	mux.HandleFunc("GET /health", s.health)
	mux.Handle("/effects", guard.pushes(s.effects))
	mux.Handle("/", guard.callers(s.inside))
	return mux
}

// deliveries returns what answers /webhook alone.
func (s *Server) deliveries() http.Handler {
	mux := http.NewServeMux()
	s.deliver(mux)
	mux.HandleFunc("/", notHere("POST /webhook alone"))
	return mux
}

func (s *Server) deliver(mux *http.ServeMux) {
	if s.webhook != nil {
		mux.Handle("/webhook", s.webhook)
	}
}

// notHere answers 404 and says what is answered instead.
func notHere(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		httpfunc.WriteError(w, &httpfunc.Error{Status: http.StatusNotFound, Message: r.URL.Path + " is not here; " + what})
	}
}

// doors are the HTTP servers of a Server, one for each listener.
type doors struct {
	servers []*http.Server
	failed  chan error // has room for all
}

// open begins to answer on every listener.
func (s *Server) open(listener net.Listener, webhooks []net.Listener) doors {
	d := doors{failed: make(chan error, 1+len(webhooks))}
	serve := func(l net.Listener, h http.Handler) {
		server := &http.Server{
			Handler:           withTrace(h),
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       time.Minute,
			ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelWarn),
		}
		d.servers = append(d.servers, server)
		go func() { d.failed <- fmt.Errorf("serving on %s: %w", l.Addr(), server.Serve(l)) }()
	}
	serve(listener, s.routes(listener))
	for _, l := range webhooks {
		serve(l, s.deliveries())
	}
	return d
}

// withTrace puts a request's trace into its context, for the log.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(logging.WithTrace(r)))
	})
}

// shutdown takes no more requests and lets those in progress end until ctx does; then it cuts them off.
func (d doors) shutdown(ctx context.Context) error {
	ended := make(chan error, len(d.servers))
	for _, server := range d.servers {
		go func() {
			err := server.Shutdown(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = server.Close()
			}
			ended <- err
		}()
	}
	var err error
	for range d.servers {
		err = errors.Join(err, <-ended)
	}
	return err
}

// close cuts every request off.
func (d doors) close() error {
	var err error
	for _, server := range d.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}
