package httpfunc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/httpfunc"
)

// child is set in a process that plays a deployed program: it registers functions and serves them.
const child = "TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		program()
	}
	goleak.VerifyTestMain(m)
}

// warned has a warning about what its variable holds.
type warned struct{ Port config.Port }

func (w warned) Warnings() error {
	if w.Port.Number == 8080 {
		return nil
	}
	return errors.New("PORT: it is unusual")
}

// program registers functions, each with settings of its own. The first build of Flaky fails.
func program() {
	type none struct{}
	type hook struct{ Webhook config.Webhook }
	httpfunc.Register("Hook", func(_ context.Context, s hook, log *slog.Logger) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			log.InfoContext(r.Context(), "hooked")
			httpfunc.WriteJSON(w, http.StatusOK, !s.Webhook.Secrets.IsZero())
		}), nil
	})
	httpfunc.Register("Warned", func(context.Context, warned, *slog.Logger) (http.Handler, error) { return nil, nil })
	type asker struct{ Gemini config.Gemini }
	httpfunc.Register("Asker", func(_ context.Context, s asker, _ *slog.Logger) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			httpfunc.WriteJSON(w, http.StatusOK, s.Gemini.APIKey)
		}), nil
	})
	var built atomic.Int32
	httpfunc.Register("Flaky", func(context.Context, none, *slog.Logger) (http.Handler, error) {
		n := built.Add(1)
		if n == 1 {
			return nil, errors.New("the store was not there")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { httpfunc.WriteJSON(w, http.StatusOK, n) }), nil
	})
	httpfunc.RegisterAtStart("Eager", func(context.Context, none, *slog.Logger) (http.Handler, error) {
		n := built.Add(1)
		switch text := os.Getenv("EAGER"); {
		case text == "refuse":
			return nil, fmt.Errorf("OPLEDGER_X: version 3 is malformed: %w", httpfunc.ErrSettings)
		case n == 1 && text == "later":
			return nil, errors.New("the source was not there")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { httpfunc.WriteJSON(w, http.StatusOK, n) }), nil
	})
	if os.Getenv(child) == "register" {
		os.Exit(0)
	}
	serveProgram()
}

// serveProgram serves the functions; set where the framework is linked.
var serveProgram func()

func command(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(env, child+"="+what, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// TestBadSettings: the target does not start with bad settings, and logs all problems in one line.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	cmd := command(t, "register", "FUNCTION_TARGET=Hook", "OPLEDGER_WEBHOOK_SECRET=whsec_ topsecret",
		"OPLEDGER_TOLERANCE=soon")
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit code 1; it printed %s", err, printed)
	}
	var line struct {
		Severity, Message, Function string
		Problems                    []string
	}
	if err := json.Unmarshal(printed, &line); err != nil {
		t.Fatalf("not one line of JSON: %v in %s", err, printed)
	}
	var variables []string
	for _, problem := range line.Problems {
		variable, _, _ := strings.Cut(problem, ": ")
		variables = append(variables, variable)
	}
	slices.Sort(variables)
	want := []string{"OPLEDGER_TOLERANCE", "OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_WEBHOOK_SECRET"}
	if line.Severity != "ERROR" || line.Function != "Hook" || !slices.Equal(variables, want) {
		t.Errorf("%+v", line)
	}
	if bytes.Contains(printed, []byte("topsecret")) {
		t.Errorf("a secret is in %s", printed)
	}
}

// TestUnread: a function starts with a variable that nothing reads. One log line names it, without
// its value. Where the settings are refused, the variable is named with the other problems.
func TestUnread(t *testing.T) {
	t.Parallel()
	set := []string{
		"FUNCTION_TARGET=Hook", "OPLEDGER_TOLERANCEE=topsecret", "OPLEDGER_COLOUR=topsecret", "OPLEDGER_GRACE=5m",
		"OPLEDGER_ADOPT=",
	}
	want := []string{
		"OPLEDGER_COLOUR: there is no such setting; unset it, or see the table in shared/config/README.md",
		"OPLEDGER_TOLERANCEE: there is no such setting; did you mean OPLEDGER_TOLERANCE?",
	}
	for _, refused := range []bool{false, true} {
		set, want, severity := set, want, "WARNING"
		if refused {
			severity = "ERROR"
			set = append(slices.Clip(set), "OPLEDGER_TOLERANCE=soon")
			want = append([]string{`OPLEDGER_TOLERANCE: "soon" is not a duration; write 90s, 5m or 6h`}, want...)
		}
		printed, err := command(t, "register", set...).Output()
		if (err != nil) != refused {
			t.Errorf("refused %v: %v; it printed %s", refused, err, printed)
		}
		var line struct {
			Severity, Function string
			Problems           []string
		}
		if err := json.Unmarshal(printed, &line); err != nil {
			t.Fatalf("not one line of JSON: %v in %s", err, printed)
		}
		if line.Severity != severity || line.Function != "Hook" || !slices.Equal(line.Problems, want) ||
			bytes.Contains(printed, []byte("topsecret")) {
			t.Errorf("refused %v: it printed %s", refused, printed)
		}
	}
}

// TestWarned: a function whose settings may be a mistake starts, and logs that once.
func TestWarned(t *testing.T) {
	t.Parallel()
	for port, want := range map[string]int{"8080": 0, "1": 1} {
		printed, err := command(t, "register", "FUNCTION_TARGET=Warned", "PORT="+port).Output()
		if err != nil || bytes.Count(printed, []byte("PORT: it is unusual")) != want ||
			bytes.Count(printed, []byte(`"severity":"WARNING"`)) != want {
			t.Errorf("%s: %v, it printed %s", port, err, printed)
		}
	}
}

// TestRefusedAtStart: a target that is built at the start ends the process where its settings name
// something unusable, and logs that. Functions that are not the target are not built.
func TestRefusedAtStart(t *testing.T) {
	t.Parallel()
	printed, err := command(t, "register", "FUNCTION_TARGET=Eager", "EAGER=refuse").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit code 1; it printed %s", err, printed)
	}
	if !strings.Contains(string(printed), `"function":"Eager"`) ||
		!strings.Contains(string(printed), "version 3 is malformed") {
		t.Errorf("it printed %s", printed)
	}
	if printed, err := command(t, "register", "FUNCTION_TARGET=Flaky", "EAGER=refuse").Output(); err != nil ||
		len(printed) != 0 {
		t.Errorf("another one: %v, it printed %s", err, printed)
	}
}

// TestOthersSettings: the settings of functions that are not the target are neither read nor
// checked.
func TestOthersSettings(t *testing.T) {
	t.Parallel()
	// of Hook; and GEMINI_API_KEY, of Asker, is missing
	bad := []string{"OPLEDGER_WEBHOOK_SECRET=nonsense", "OPLEDGER_TOLERANCE=soon"}
	for _, target := range []string{"FUNCTION_TARGET=Flaky", "FUNCTION_TARGET=Events", "FUNCTION_TARGET=",
		"IRRELEVANT=1"} {
		if printed, err := command(t, "register", append(bad, target)...).Output(); err != nil || len(printed) != 0 {
			t.Errorf("%s: %v, it printed %s", target, err, printed)
		}
	}
	if _, err := command(t, "register", append(bad, "FUNCTION_TARGET=Asker", "GEMINI_API_KEY=k")...).Output(); err != nil {
		t.Errorf("Asker: %v", err)
	}
}
