package effect

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/results"
)

// A Spec is one entry of the effects in the settings: when an effect is planned, and what it does.
type Spec struct {
	Name string            `yaml:"name"`
	On   []operation.State `yaml:"on"`
	// Alerts stand among the states of on in the settings.
	Alerts   []ledger.Alert `yaml:"-"`
	JobKinds []string       `yaml:"jobKinds"`
	// Do names the handler: log, http, pubsub, results, or custom for the team's own handler of the effect's name.
	Do string `yaml:"do"`
	// Each is "item" where the effect runs once for each item of a batch's result [K4], as results does that writes to a collection.
	Each string `yaml:"each"`
	// URL is where http posts to; Topic is what pubsub publishes to, projects/P/topics/T or T. Results writes a document for each
	// item to Collection, or one object to Bucket, gs://BUCKET or gs://BUCKET/PREFIX.
	URL        string `yaml:"url"`
	Topic      string `yaml:"topic"`
	Collection string `yaml:"collection"`
	Bucket     string `yaml:"bucket"`
	// Timeout bounds one attempt of http and pubsub; 0: 30 s.
	Timeout time.Duration `yaml:"timeout"`
}

// Default is what runs where the settings say nothing: the completion is logged, whatever it is.
func Default() []Spec {
	return []Spec{{
		Name: "log", Do: "log",
		On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
}

// ParseSpecs reads a list of specs in YAML or JSON. The error joins every problem that can be seen without the rest of the
// settings.
func ParseSpecs(text []byte) ([]Spec, error) {
	var specs []Spec
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.DisallowUnknownField()).Decode(&specs); err != nil {
		// Without the source, which may hold the password of a URL.
		said := strings.TrimSpace(yaml.FormatError(err, false, false))
		return nil, fmt.Errorf("it must be a list like [{name: publish, on: [SUCCEEDED], do: log}]: %s", said)
	}
	if len(specs) == 0 {
		return nil, errors.New("it lists no effect; leave it unset for the default, which logs every completion")
	}
	var problems []error
	for i := range specs {
		specs[i].sort()
		problems = append(problems, specs[i].problem())
	}
	return specs, errors.Join(problems...)
}

// sort takes the alerts out of the states that they were listed with. A word that is neither stays, for the rules' own check to
// find.
func (s *Spec) sort() {
	s.On = slices.DeleteFunc(s.On, func(word operation.State) bool {
		alert := slices.Contains(ledger.Alerts(), ledger.Alert(word))
		if alert {
			s.Alerts = append(s.Alerts, ledger.Alert(word))
		}
		return alert
	})
}

// EachItem reports whether the effect runs once per item.
func (s Spec) EachItem() bool { return s.Each == eachItem || s.Do == "results" && s.Bucket == "" }

// FetchesResults reports whether the effect reads a batch's result, for which it needs Gemini.
func (s Spec) FetchesResults() bool { return s.EachItem() || s.Do == "results" }

const eachItem = "item"

// topicName is what Pub/Sub takes for a topic, with or without its project.
var topicName = regexp.MustCompile(`^(projects/[a-z0-9][a-z0-9.:-]*/topics/)?[A-Za-z][A-Za-z0-9_.~+%-]{2,254}$`)

func (s Spec) problem() error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("effect %q: %w", s.Name, fmt.Errorf(format, args...)))
	}
	switch s.Do {
	case "log", "custom":
	case "results":
		if err := s.checkResults(); err != nil {
			wrong("%w", err)
		}
	case "http":
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			wrong("url must be an http or https URL") // it may hold a password
		}
	case "pubsub":
		if !topicName.MatchString(s.Topic) {
			wrong("topic must be projects/PROJECT/topics/TOPIC or TOPIC, not %q", s.Topic)
		}
	default:
		wrong("do must be log, http, pubsub, custom or results, not %q", s.Do)
		return errors.Join(problems...)
	}
	if s.URL != "" && s.Do != "http" {
		wrong("url is for do: http")
	}
	if s.Topic != "" && s.Do != "pubsub" {
		wrong("topic is for do: pubsub")
	}
	if s.Collection != "" && s.Do != "results" {
		wrong("collection is for do: results")
	}
	if s.Bucket != "" && s.Do != "results" {
		wrong("bucket is for do: results")
	}
	if s.Each != "" && s.Each != eachItem {
		wrong("each must be item, for once per item of a batch's result, or be left out, not %q", s.Each)
	}
	if s.FetchesResults() && (len(s.Alerts) > 0 || len(s.On) != 1 || s.On[0] != operation.Succeeded) {
		wrong("only a batch that succeeded has items: on must be [SUCCEEDED]")
	}
	if s.Timeout < 0 {
		wrong("timeout must not be below zero")
	}
	return errors.Join(problems...)
}

// Rules returns when the ledger plans each effect.
func Rules(specs []Spec) []ledger.Rule {
	rules := make([]ledger.Rule, len(specs))
	for i, s := range specs {
		rules[i] = ledger.Rule{Name: s.Name, On: s.On, Alerts: s.Alerts, JobKinds: s.JobKinds}
	}
	return rules
}

// HandlerOptions are what handlers take beside their specs.
type HandlerOptions struct {
	Log          *slog.Logger
	AllowPrivate bool
	// Signer signs what http sends; nil sends it unsigned.
	Signer *Signer
	// Topics are what pubsub publishes to. The caller closes them when nothing runs any more.
	Topics *Topics
	// Custom are the team's own handlers, by the name of the effect that each performs.
	Custom map[string]Handler
	// Ledger is for effects that run once per item, Results for those that read a batch's result, Buckets for those that write it to
	// Cloud Storage.
	Ledger  *ledger.Ledger
	Results *results.Client
	Buckets *Buckets
	Now     func() time.Time
}

// Handlers returns the handler of each effect, by name. specs are as ParseSpecs or Default returned them. The error joins what
// only the two together make wrong: a topic whose project nobody named, an effect whose own handler is missing.
func Handlers(specs []Spec, o HandlerOptions) (map[string]Handler, error) {
	handlers := make(map[string]Handler, len(specs))
	var problems []error
	for _, s := range specs {
		handler, err := s.handler(o)
		if err != nil {
			problems = append(problems, fmt.Errorf("effect %q: %w", s.Name, err))
		}
		if s.EachItem() {
			handler = Each(handler, EachOptions{Ledger: o.Ledger, Results: o.Results, Log: o.Log, Now: o.Now})
		}
		handlers[s.Name] = handler
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return handlers, nil
}

func (s Spec) handler(o HandlerOptions) (Handler, error) {
	switch s.Do {
	case "log":
		return Log(o.Log), nil
	case "http":
		return HTTP(HTTPOptions{URL: s.URL, Timeout: s.Timeout, AllowPrivate: o.AllowPrivate, Signer: o.Signer, Now: o.Now}), nil
	case "pubsub":
		topic, err := o.Topics.fullName(s.Topic)
		return PubSub(o.Topics, topic, s.Timeout), err
	case "results":
		if s.Bucket != "" {
			return ResultsObject(ResultsObjectOptions{Bucket: s.Bucket, Buckets: o.Buckets, Results: o.Results, Log: o.Log, Now: o.Now})
		}
		return Results(s.Collection), nil
	case "custom":
		if handler := o.Custom[s.Name]; handler != nil {
			return handler, nil
		}
		return nil, errors.New("do is custom, and this program has no handler of that name; add it in functions/effects/custom.go")
	default:
		return nil, fmt.Errorf("there is no do: %s", s.Do)
	}
}
