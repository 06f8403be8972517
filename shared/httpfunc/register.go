// Package httpfunc is the HTTP side of the four functions: how they are registered with the functions framework, how they
// read their settings, and how they answer.
package httpfunc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/logging"
)

// ErrSettings is wrapped by an error of build that no later try fixes: what the settings name cannot be used.
var ErrSettings = errors.New("the settings are not usable")

// HTTP registers an HTTP function under name. Settings are read and checked when this is the function that the process runs
// (FUNCTION_TARGET); if there is any problem it says all of them and the process ends. Variables that nothing reads are a warning:
// config.Unread says why. What build makes is made at the first request, and again at the next one if that failed.
func HTTP[Settings any](name string, build func(context.Context, Settings, *slog.Logger) (http.Handler, error)) {
	serve(register(name, build), name)
}

// HTTPAtStart is HTTP for a function that the process builds when it starts. An error that wraps ErrSettings ends the process,
// so that a revision with unusable settings takes no traffic; after any other error it is built at the first request.
func HTTPAtStart[Settings any](name string, build func(context.Context, Settings, *slog.Logger) (http.Handler, error)) {
	handler := register(name, build)
	if os.Getenv("FUNCTION_TARGET") == name {
		if _, err := handler.get(); errors.Is(err, ErrSettings) {
			refuse(handler.log, name, err)
		}
	}
	serve(handler, name)
}

func serve(handler *lazy[http.Handler], name string) {
	notStarted := OnlyPOST(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Fail(w, &Error{Status: http.StatusServiceUnavailable, Message: "the function could not start; its log says why"})
	}))
	functions.HTTP(name, func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(logging.WithTrace(r))
		h, err := handler.get()
		if err != nil {
			handler.log.ErrorContext(r.Context(), "starting the function", "error", err)
			h = notStarted
		}
		h.ServeHTTP(w, r)
	})
}

// lazy is something that is built when it is first needed.
type lazy[T any] struct {
	log   *slog.Logger
	build func() (T, error)

	mu    sync.Mutex
	built bool
	value T
}

func (l *lazy[T]) get() (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built {
		return l.value, nil
	}
	value, err := l.build()
	if err == nil {
		l.value, l.built = value, true
	}
	return value, err
}

func register[Settings, T any](name string, build func(context.Context, Settings, *slog.Logger) (T, error)) *lazy[T] {
	log := logging.New(os.Stdout, os.Getenv("GOOGLE_CLOUD_PROJECT"))
	parse := func() (Settings, error) { return config.Parse[Settings](os.Environ()) }
	if os.Getenv("FUNCTION_TARGET") == name {
		settings, err := parse()
		unread := config.Unread(os.Environ())
		if err != nil {
			refuse(log, name, errors.Join(err, unread)) // a misspelt name explains one that is missing
		}
		if unread != nil {
			log.Warn("variables are set that nothing reads; the function starts without them", "function", name, "problems", problems(unread))
		}
		parse = func() (Settings, error) { return settings, nil }
	}
	return &lazy[T]{log: log, build: func() (T, error) {
		settings, err := parse()
		if err != nil {
			var none T
			return none, err
		}
		return build(context.Background(), settings, log)
	}}
}

// refuse ends the process, and says every problem.
func refuse(log *slog.Logger, name string, err error) {
	log.Error("the settings are not usable; nothing was started", "function", name, "problems", problems(err))
	os.Exit(1)
}

// problems are the texts of joined errors.
func problems(err error) []string {
	var texts []string
	for _, problem := range diag.Split(err) {
		texts = append(texts, problem.Error())
	}
	return texts
}
