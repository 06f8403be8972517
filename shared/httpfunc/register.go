// Package httpfunc is the HTTP side of the four deployed functions. It registers them with the
// functions framework, reads their settings, bounds their request bodies and writes their answers.
//
// A function's settings are checked when its process starts. Its clients are built once, at the
// first request. One table maps errors to HTTP statuses for all functions.
//
// At SIGTERM a deployed function begins no other request, and no item, attempt or wait inside of one
// that is in progress, see effect.WithStop. Those in progress have 4 s to end. Then their contexts
// end with effect.ErrStopped, so that they release what they hold, and the process ends 9 s after
// the signal at the latest.
package httpfunc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/lazy"
	"github.com/opledger/opledger/shared/logging"
)

// ErrSettings is for errors of build that no retry fixes, because a setting names something
// unusable.
var ErrSettings = errors.New("the settings are not usable")

// Register registers a function under name. build makes its handler at the first request. If build
// fails, that request is answered 503, and the next request runs build again.
//
// Where FUNCTION_TARGET is name, the settings are read and checked at once. Any problem ends the
// process with status 1, after one log line with all problems. A variable that nothing reads is
// only logged, see config.Unread.
func Register[Settings any](
	name string, build func(context.Context, Settings, *slog.Logger) (http.Handler, error),
) {
	serve(prepare(name, build), name)
}

// RegisterAtStart is Register for a function that is built when its process starts. An error that
// wraps ErrSettings ends the process, so that a revision with unusable settings gets no traffic.
// After any other error build runs again at the first request.
func RegisterAtStart[Settings any](
	name string, build func(context.Context, Settings, *slog.Logger) (http.Handler, error),
) {
	handler := prepare(name, build)
	if os.Getenv("FUNCTION_TARGET") == name {
		if _, err := handler.get(); errors.Is(err, ErrSettings) {
			refuse(handler.log, name, err)
		}
	}
	serve(handler, name)
}

// A target is built at its first use. A failed build is repeated at the next use.
type target[T any] struct {
	log   *slog.Logger
	build func(context.Context) (T, error)
	built lazy.Value[T]
}

func (t *target[T]) get() (T, error) { return t.built.Get(context.Background(), t.build) }

func serve(handler *target[http.Handler], name string) {
	notStarted := unavailable("the function could not start; its log says why")
	stopping := unavailable("the process is stopping; another one answers")
	stopper := newStopper(handler.log, os.Exit)
	if os.Getenv("FUNCTION_TARGET") == name {
		stopper.onSIGTERM()
	}
	functions.HTTP(name, func(w http.ResponseWriter, r *http.Request) {
		r, done, ok := stopper.begin(r.WithContext(logging.WithTrace(r)))
		if !ok {
			stopping.ServeHTTP(w, r)
			return
		}
		defer done()
		h, err := handler.get()
		if err != nil {
			handler.log.ErrorContext(r.Context(), "starting the function", "error", err)
			h = notStarted
		}
		h.ServeHTTP(w, r)
	})
}

// unavailable answers 503 with a message.
func unavailable(message string) http.Handler {
	return OnlyPOST(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, Errorf(http.StatusServiceUnavailable, "%s", message))
	}))
}

// prepare returns build as a target, with settings that were checked if this function is the
// target.
func prepare[Settings, T any](
	name string, build func(context.Context, Settings, *slog.Logger) (T, error),
) *target[T] {
	log := logging.New(os.Stdout, os.Getenv("GOOGLE_CLOUD_PROJECT"))
	parse := func() (Settings, error) { return config.Parse[Settings](os.Environ()) }
	if os.Getenv("FUNCTION_TARGET") == name {
		settings, err := parse()
		unread := config.Unread(os.Environ())
		if err != nil {
			// A misspelt name often explains the variable that is missing.
			refuse(log, name, errors.Join(err, unread))
		}
		if unread != nil {
			log.Warn("variables are set that nothing reads; the function starts without them",
				"function", name, "problems", problems(unread))
		}
		if s, ok := any(settings).(warner); ok {
			if err := s.Warnings(); err != nil {
				log.Warn("some settings should be changed; the function starts with them",
					"function", name, "problems", problems(err))
			}
		}
		parse = func() (Settings, error) { return settings, nil }
	}
	return &target[T]{log: log, build: func(ctx context.Context) (built T, err error) {
		settings, err := parse()
		if err != nil {
			return built, err
		}
		return build(ctx, settings, log)
	}}
}

// A warner are settings that can be used, and that may be a mistake. Warnings joins what may be one.
type warner interface{ Warnings() error }

// refuse logs every problem in err and ends the process.
func refuse(log *slog.Logger, name string, err error) {
	log.Error("the settings are not usable; nothing was started", "function", name, "problems", problems(err))
	os.Exit(1)
}

// problems returns the text of each joined error.
func problems(err error) []string {
	var texts []string
	for _, problem := range diag.Split(err) {
		texts = append(texts, problem.Error())
	}
	return texts
}
