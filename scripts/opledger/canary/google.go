package canary

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"
)

// Google is what the canary uses of Cloud Logging and Cloud Scheduler: three requests. Google's
// library for Cloud Logging has 37,000 lines.
type Google struct {
	http               *http.Client
	logging, scheduler string
}

// Emulators are the addresses of simulators, for tests: host and port of Secret Manager, the others
// with http://. They get no credentials. Empty: Google's services.
type Emulators struct {
	Secrets   string `env:"SECRET_MANAGER_EMULATOR_HOST"`
	Logging   string `env:"LOGGING_EMULATOR_HOST"`
	Scheduler string `env:"SCHEDULER_EMULATOR_HOST"`
}

// NewGoogle returns a client with the process's credentials, unless both services are simulated.
func NewGoogle(ctx context.Context, at Emulators) (*Google, error) {
	g := &Google{
		http: &http.Client{}, logging: cmp.Or(at.Logging, "https://logging.googleapis.com"),
		scheduler: cmp.Or(at.Scheduler, "https://cloudscheduler.googleapis.com"),
	}
	if at.Logging != "" && at.Scheduler != "" {
		return g, nil
	}
	var err error
	g.http, _, err = htransport.NewClient(ctx, option.WithScopes("https://www.googleapis.com/auth/cloud-platform"))
	if err != nil {
		return nil, fmt.Errorf("finding Google's credentials: %w; run gcloud auth application-default login", err)
	}
	return g, nil
}

// requestTime bounds one request.
const requestTime = 30 * time.Second

// call makes a request and decodes the answer into out. The error wraps *googleapi.Error where
// Google answered.
func (g *Google) call(ctx context.Context, method, url string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding a request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := g.http.Do(r)
	if err != nil {
		return fmt.Errorf("asking Google: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if err := googleapi.CheckResponse(response); err != nil {
		return fmt.Errorf("Google answered: %w", err) //nolint:staticcheck // a name
	}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return fmt.Errorf("reading Google's answer: %w", err)
	}
	return nil
}

// A job is one of Cloud Scheduler's.
type job struct {
	State           string
	LastAttemptTime time.Time
	Status          struct{ Code int } // of the last attempt
	HTTPTarget      struct {
		OIDCToken struct{ ServiceAccountEmail, Audience string }
	}
}

func (g *Google) job(ctx context.Context, name string) (job, error) {
	var j job
	err := g.call(ctx, http.MethodGet, g.scheduler+"/v1/"+name, nil, &j)
	return j, err
}

func (g *Google) runJob(ctx context.Context, name string) error {
	return g.call(ctx, http.MethodPost, g.scheduler+"/v1/"+name+":run", struct{}{}, &job{})
}

// A line is an entry of the log.
type line struct {
	Timestamp   time.Time
	JSONPayload map[string]any
	HTTPRequest struct{ Status int }
}

func (l line) text(field string) string {
	text, _ := l.JSONPayload[field].(string)
	return text
}

// began is when what the line reports began.
func (l line) began() time.Time {
	took, _ := l.JSONPayload["duration_ms"].(float64)
	return l.Timestamp.Add(-time.Duration(took) * time.Millisecond)
}

// counts are the numbers and truths of a pass.
func (l line) counts() map[string]any {
	counts := map[string]any{}
	for name, value := range l.JSONPayload {
		switch value.(type) {
		case float64, bool:
			counts[name] = value
		}
	}
	delete(counts, "duration_ms")
	return counts
}

// equals is a term of a filter.
func equals(field, value string) string { return fmt.Sprintf("%s=%q", field, value) }

// lines returns what a service has logged since then with that event and one of the outcomes,
// newest first.
func (g *Google) lines(ctx context.Context, project, service string, since time.Time, event string, outcomes []string,
	more ...string,
) ([]line, error) {
	quoted := make([]string, len(outcomes))
	for i, outcome := range outcomes {
		quoted[i] = fmt.Sprintf("%q", outcome)
	}
	return g.entries(ctx, project, append([]string{
		equals("resource.type", "cloud_run_revision"), equals("resource.labels.service_name", service), after(since),
		equals("jsonPayload.event", event), "jsonPayload.outcome=(" + strings.Join(quoted, " OR ") + ")",
	}, more...))
}

// requests returns the lines of Cloud Run's log of requests that Google's own services made to a
// service since then, with one of the statuses (none: any), newest first. It has those, too, that
// were refused in front of it.
func (g *Google) requests(ctx context.Context, project, service string, since time.Time, statuses ...int) ([]line,
	error,
) {
	terms := []string{
		equals("resource.type", "cloud_run_revision"), equals("resource.labels.service_name", service), after(since),
		equals("logName", "projects/"+project+"/logs/run.googleapis.com%2Frequests"),
		`httpRequest.userAgent:"Google"`, // CloudPubSub-Google, Google-Cloud-Scheduler; not a stranger
	}
	words := make([]string, len(statuses))
	for i, status := range statuses {
		words[i] = fmt.Sprint(status)
	}
	if len(words) > 0 {
		terms = append(terms, "httpRequest.status=("+strings.Join(words, " OR ")+")")
	}
	return g.entries(ctx, project, terms)
}

func after(since time.Time) string {
	return fmt.Sprintf("timestamp>=%q", since.UTC().Format(time.RFC3339Nano))
}

// entries returns the newest lines that match every term. Where Cloud Logging is busy it returns
// none: the caller looks again.
func (g *Google) entries(ctx context.Context, project string, terms []string) ([]line, error) {
	request := map[string]any{
		"resourceNames": []string{"projects/" + project}, "filter": strings.Join(terms, " AND "),
		"orderBy": "timestamp desc", "pageSize": 50,
	}
	for range maxPages {
		var page struct {
			Entries       []line
			NextPageToken string
		}
		err := g.call(ctx, http.MethodPost, g.logging+"/v2/entries:list", request, &page)
		var answered *googleapi.Error
		switch {
		case errors.As(err, &answered) && (answered.Code == http.StatusTooManyRequests || answered.Code >= 500):
			return nil, nil
		case errors.As(err, &answered) && answered.Code == http.StatusForbidden:
			return nil, cut("roles/logging.viewer on the project", "the log cannot be read: %w", err)
		case err != nil:
			return nil, cut("Cloud Logging in the console", "the log cannot be read: %w", err)
		case len(page.Entries) > 0 || page.NextPageToken == "":
			return page.Entries, nil
		}
		request["pageToken"] = page.NextPageToken // an empty page is not the last one: the search goes on
	}
	return nil, nil
}

// maxPages bounds one search.
const maxPages = 10
