package infra_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An entry is a line of Cloud Logging.
type entry struct {
	at     time.Time
	fields map[string]any
}

// field returns the value at a path such as resource.labels.service_name; nil if there is none.
func (e entry) field(path string) any {
	if path == "timestamp" {
		return e.at.UTC().Format(time.RFC3339Nano)
	}
	var value any = e.fields
	for word := range strings.SplitSeq(path, ".") {
		fields, _ := value.(map[string]any)
		value = fields[word]
	}
	return value
}

var logTerm = regexp.MustCompile(`^(NOT )?([A-Za-z_.]+)(>=|=)(.+)$`)

// matches reports whether a line fits a filter: terms joined by AND, each FIELD=VALUE, FIELD=(VALUE OR VALUE),
// FIELD>=VALUE, and NOT in front of one. A filter of another form is an error: it may have a mistake.
func (e entry) matches(filter string) (bool, error) {
	for term := range strings.SplitSeq(filter, " AND ") {
		parts := logTerm.FindStringSubmatch(term)
		if parts == nil {
			return false, fmt.Errorf("a term of the filter is not known: %s", term)
		}
		fits := false
		value := e.field(parts[2])
		if parts[3] == ">=" {
			fits = value != nil && rank(value) >= rank(strings.Trim(parts[4], `"`))
		} else {
			words := strings.Split(strings.TrimSuffix(strings.TrimPrefix(parts[4], "("), ")"), " OR ")
			fits = slices.ContainsFunc(words, func(word string) bool {
				return value != nil && strings.EqualFold(strings.Trim(word, `"`), fmt.Sprint(value))
			})
		}
		if fits == (parts[1] != "") {
			return false, nil
		}
	}
	return true, nil
}

// rank is the number of a severity, or the number itself.
func rank(value any) int {
	text := fmt.Sprint(value)
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return slices.Index([]string{"DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"}, text)
}

// read answers gcloud logging read.
func (o *oncall) read(c called) (string, error) {
	o.collect()
	limit, err := strconv.Atoi(c.flag("limit", "1000000"))
	if err != nil {
		return "", err
	}
	fresh := c.flag("freshness", "1d")
	if days, ok := strings.CutSuffix(fresh, "d"); ok {
		fresh = days + "h"
	}
	age, err := time.ParseDuration(fresh)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(c.flag("freshness", "1d"), "d") {
		age *= 24
	}
	var found []any
	for _, e := range slices.Backward(o.entries) {
		fits, err := e.matches(c.words[2])
		if err != nil {
			return "", err
		}
		if fits && e.at.After(o.now().Add(-age)) && len(found) < limit {
			found = append(found, e)
		}
	}
	return c.printed(found...)
}

// platform adds Google Cloud's own line about a request. The caller holds mu.
func (o *oncall) platform(function string, status int, agent string) {
	o.entries = append(o.entries, entry{at: o.now(), fields: map[string]any{
		"resource": map[string]any{
			"type": "cloud_run_revision", "labels": map[string]any{"service_name": "opledger-" + function},
		},
		"httpRequest": map[string]any{"status": status, "userAgent": agent},
	}})
}

// collect adds what the functions have printed to the log. The caller holds mu.
func (o *oncall) collect() {
	for function, all := range o.printed() {
		for _, line := range all {
			o.keep(function, line)
		}
	}
}

// keep adds a function's own line to the log. The caller holds mu.
func (o *oncall) keep(function string, line map[string]any) {
	o.since[function] = append(o.since[function], line)
	o.entries = append(o.entries, entry{at: o.now(), fields: map[string]any{
		"severity": line["severity"], "jsonPayload": line,
		"resource": map[string]any{
			"type": "cloud_run_revision", "labels": map[string]any{"service_name": "opledger-" + function},
		},
	}})
}

// lately returns what the functions printed since it was last called.
func (o *oncall) lately() lines {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.collect()
	printed := o.since
	o.since = lines{}
	return printed
}

// later lets hours pass for the log.
func (o *oncall) later() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.collect()
	o.ahead += 30 * time.Hour
}

// broke is a line of a function that did not start.
func (o *oncall) broke(function, problem string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(function, map[string]any{
		"severity": "ERROR", "message": "the settings are not usable; nothing was started", "problems": []any{problem},
	})
}
