package googlesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Request is the platform's line about a request to a service.
type Request struct {
	Service, UserAgent string
	Status             int
}

// Output returns what a service's process writes its log to: a JSON object in each call.
func (s *Sim) Output(service string) Output { return Output{s, service} }

// An Output is the standard output of a service's process.
type Output struct {
	sim     *Sim
	service string
}

// Write adds a line to the log, as Cloud Logging takes it: severity and time are not in its
// payload. The error is that of a line that is no JSON object.
func (o Output) Write(text []byte) (int, error) {
	payload := map[string]any{}
	if err := json.Unmarshal(text, &payload); err != nil {
		return 0, fmt.Errorf("%s wrote what is no line of a log: %w", o.service, err)
	}
	entry := o.sim.entry(o.service, "run.googleapis.com%2Fstdout")
	entry["severity"] = payload["severity"]
	if at, ok := payload["time"].(string); ok {
		entry["timestamp"] = at
	}
	delete(payload, "severity")
	delete(payload, "time")
	entry["jsonPayload"] = payload
	o.sim.add(entry)
	return len(text), nil
}

// Log adds the platform's line about a request.
func (s *Sim) Log(r Request) {
	entry := s.entry(r.Service, "run.googleapis.com%2Frequests")
	entry["httpRequest"] = map[string]any{"status": r.Status, "userAgent": r.UserAgent}
	s.add(entry)
}

func (s *Sim) entry(service, log string) map[string]any {
	return map[string]any{
		"timestamp": s.now().UTC().Format(time.RFC3339Nano), "logName": "projects/" + s.project + "/logs/" + log,
		"resource": map[string]any{
			"type": "cloud_run_revision", "labels": map[string]any{"service_name": service},
		},
	}
}

func (s *Sim) add(entry map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, entry)
}

// list answers entries:list, newest first. The first page of a search is empty, as those of a long
// one are.
func (s *Sim) list(w http.ResponseWriter, r *http.Request) {
	var query struct {
		ResourceNames              []string
		Filter, OrderBy, PageToken string
	}
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil ||
		!slices.Equal(query.ResourceNames, []string{"projects/" + s.project}) || query.OrderBy != "timestamp desc" {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("%v: not a search of this project's log, newest first: %+v", err, query))
		return
	}
	if query.PageToken == "" {
		answer(w, map[string]any{"nextPageToken": "2"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []map[string]any{}
	for _, entry := range slices.Backward(s.entries) {
		fits, err := matches(entry, query.Filter)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if fits {
			found = append(found, entry)
		}
	}
	answer(w, map[string]any{"entries": found})
}

// matches reports whether an entry fits a filter: terms FIELD=VALUE, FIELD=(VALUE OR VALUE),
// FIELD:PART and FIELD>=TIME, joined by AND.
func matches(entry map[string]any, filter string) (bool, error) {
	for term := range strings.SplitSeq(filter, " AND ") {
		at := strings.IndexAny(term, "=:>")
		if at < 0 {
			return false, fmt.Errorf("a term that is not known: %s", term)
		}
		path, comparison := term[:at], term[at:]
		value := valueOf(entry, path)
		fits := false
		switch {
		case strings.HasPrefix(comparison, ">="):
			at, err := time.Parse(time.RFC3339Nano, unquoted(comparison[2:]))
			is, err2 := time.Parse(time.RFC3339Nano, value)
			if err != nil || err2 != nil {
				return false, fmt.Errorf("not two times: %s, %s", value, term)
			}
			fits = !is.Before(at)
		case comparison[0] == ':':
			fits = strings.Contains(strings.ToLower(value), strings.ToLower(unquoted(comparison[1:])))
		case comparison[0] == '=':
			words := strings.Split(strings.Trim(comparison[1:], "()"), " OR ")
			fits = slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(unquoted(word), value) })
		default:
			return false, fmt.Errorf("a term that is not known: %s", term)
		}
		if !fits {
			return false, nil
		}
	}
	return true, nil
}

// valueOf is the text of a field; empty where the entry has none.
func valueOf(entry map[string]any, path string) string {
	var value any = entry
	for word := range strings.SplitSeq(path, ".") {
		fields, _ := value.(map[string]any)
		value = fields[word]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func unquoted(text string) string { return strings.Trim(text, `"`) }
