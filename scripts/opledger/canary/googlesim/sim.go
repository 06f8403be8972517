package googlesim

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// A Sim is one project's Cloud Logging and Cloud Scheduler, an http.Handler for both. It is safe
// for concurrent use.
type Sim struct {
	project string
	now     func() time.Time

	mu      sync.Mutex
	entries []map[string]any // the log, oldest first
	jobs    map[string]*Job  // by full name
	runs    sync.WaitGroup
}

// New returns a project without log and jobs.
func New(project string, now func() time.Time) *Sim {
	return &Sim{project: project, now: now, jobs: map[string]*Job{}}
}

// A Job calls a function.
type Job struct {
	Account, Audience string
	Paused            bool
	// Call calls the function, and returns the status of the answer; 0: nothing could be sent.
	Call func(context.Context) int

	attempt time.Time
	ended   bool // the last attempt has a code
	code    codes.Code
}

// noCode is what Cloud Scheduler has as the code of an attempt that has not ended, and of a job that
// was never run.
const noCode = -1

// SetJob makes a job, or replaces it.
func (s *Sim) SetJob(region, id string, j Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs["projects/"+s.project+"/locations/"+region+"/jobs/"+id] = &j
}

// Wait returns when all calls of jobs have ended.
func (s *Sim) Wait() { s.runs.Wait() }

// ServeHTTP answers requests to either API.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, isJob := strings.CutPrefix(r.URL.Path, "/v1/")
	name, run := strings.CutSuffix(name, ":run")
	s.mu.Lock()
	j := s.jobs[name]
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/v2/entries:list" && r.Method == http.MethodPost:
		s.list(w, r)
	case !isJob || j == nil:
		refuse(w, http.StatusNotFound, "there is no "+r.URL.Path)
	case run && r.Method == http.MethodPost:
		s.run(context.WithoutCancel(r.Context()), j)
		s.describe(w, name, j)
	case !run && r.Method == http.MethodGet:
		s.describe(w, name, j)
	default:
		refuse(w, http.StatusMethodNotAllowed, r.Method)
	}
}

// run calls the function, behind the answer to the request.
func (s *Sim) run(ctx context.Context, j *Job) {
	s.runs.Go(func() {
		s.mu.Lock()
		j.attempt, j.ended = s.now(), false
		s.mu.Unlock()
		code := codeOf(j.Call(ctx))
		s.mu.Lock()
		defer s.mu.Unlock()
		j.code, j.ended = code, true
	})
}

// codeOf is the code that Cloud Scheduler keeps for the status of an answer.
func codeOf(status int) codes.Code {
	switch {
	case status >= 200 && status < 300:
		return codes.OK
	case status == http.StatusUnauthorized:
		return codes.Unauthenticated
	case status == http.StatusForbidden:
		return codes.PermissionDenied
	case status == http.StatusNotFound:
		return codes.NotFound
	default:
		return codes.Internal
	}
}

func (s *Sim) describe(w http.ResponseWriter, name string, j *Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	described := map[string]any{
		"name": name, "state": "ENABLED",
		"httpTarget": map[string]any{"oidcToken": map[string]string{
			"serviceAccountEmail": j.Account, "audience": j.Audience,
		}},
	}
	if j.Paused {
		described["state"] = "PAUSED"
	}
	if !j.attempt.IsZero() {
		described["lastAttemptTime"] = j.attempt.UTC().Format(time.RFC3339Nano)
	}
	switch {
	case !j.ended:
		described["status"] = map[string]any{"code": noCode}
	case j.code == codes.OK:
		described["status"] = map[string]any{}
	default:
		described["status"] = map[string]any{"code": int(j.code)}
	}
	answer(w, described)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // it fails where the client has disconnected
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	answer(w, map[string]any{"error": map[string]any{"code": status, "message": message}})
}
