package effect

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Spec is one entry of the effects in the settings: when an effect is planned, and what it does.
type Spec struct {
	Name string
	On   []operation.State
	// Alerts stand among the states of on in the settings.
	Alerts   []ledger.Alert
	JobKinds []string
	// Do names the handler: log, http, pubsub, results, or custom for the team's own handler of the effect's name.
	Do string
	// Each is "item" where the effect runs once for each item of a batch's result [K4], as results does that writes to a collection.
	Each string
	// URL is where http posts to; Topic is what pubsub publishes to, projects/P/topics/T or T. Results writes a document for each
	// item to Collection, or one object to Bucket, gs://BUCKET or gs://BUCKET/PREFIX.
	URL        string
	Topic      string
	Collection string
	Bucket     string
	// Timeout bounds one attempt of http and pubsub; 0: 30 s.
	Timeout time.Duration
	// Concurrency is how many of the effect are in flight in one process at most; 0: DefaultConcurrency.
	Concurrency int
	// Permanent are statuses that http takes for a no for good, beside those that [HTTP] lists.
	Permanent []int
}

// DefaultConcurrency is how many of one effect are in flight in one process where its spec does not say: what has waited for a
// receiver that was down must not bring it down again.
const DefaultConcurrency = 10

// Default is what runs where the settings say nothing: the completion is logged, whatever it is.
func Default() []Spec {
	return []Spec{{
		Name: "log", Do: "log",
		On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
}

// ParseSpecs reads a list of specs in YAML or JSON. The error joins every problem that can be seen without the rest of the
// settings but allowed, those of the rules among them, in the order of the text: each begins with the effect's name or, where it has
// none, its place in the list, and in a text of several lines with the line. It repeats nothing of a URL, which may hold a password.
//
// Beside an error the specs are what could be read, of which nothing should be run.
func ParseSpecs(text []byte, allowed operation.Transitions) ([]Spec, error) {
	var r reader
	entries, err := r.list(text)
	if err != nil {
		return nil, err
	}
	specs := make([]Spec, len(entries))
	for i, entry := range entries {
		specs[i] = r.spec(i, entry)
	}
	r.rules(specs, entries, allowed)
	return specs, r.err()
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

// check says to wrong what is wrong with a spec, and with which field, as far as the rules' own check does not.
func (s Spec) check(wrong func(field, format string, args ...any)) {
	handlers := []string{"log", "http", "pubsub", "custom", "results"}
	switch s.Do {
	case "log", "custom":
	case "results":
		if field, err := s.checkResults(); err != nil {
			wrong(field, "%w", err)
		}
	case "http":
		if s.URL == "" {
			wrong("url", "http needs a url: the http or https URL to post to")
		} else if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			wrong("url", "url must be an http or https URL") // it may hold a password
		}
	case "pubsub":
		if !topicName.MatchString(s.Topic) {
			wrong("topic", "topic must be projects/PROJECT/topics/TOPIC or TOPIC, not %s", diag.Quote(s.Topic))
		}
	default:
		wrong("do", "do must be log, http, pubsub, custom or results, not %s%s", diag.Quote(s.Do), diag.DidYouMean(s.Do, handlers))
	}
	for _, of := range []struct{ field, value, do string }{
		{"url", s.URL, "http"}, {"topic", s.Topic, "pubsub"}, {"collection", s.Collection, "results"}, {"bucket", s.Bucket, "results"},
	} {
		if of.value != "" && s.Do != of.do && slices.Contains(handlers, s.Do) {
			wrong(of.field, "%s is for do: %s", of.field, of.do)
		}
	}
	if s.Each != "" && s.Each != eachItem {
		wrong("each", "each must be item, for once per item of a batch's result, or be left out, not %s", diag.Quote(s.Each))
	}
	if s.FetchesResults() && (len(s.Alerts) > 0 || len(s.On) != 1 || s.On[0] != operation.Succeeded) {
		wrong("on", "only a batch that succeeded has items: on must be [SUCCEEDED]")
	}
	if s.Permanent != nil && s.Do != "http" && slices.Contains(handlers, s.Do) {
		wrong("permanent", "permanent is for do: http")
	}
	for _, status := range s.Permanent {
		if status < 400 || status > 599 {
			wrong("permanent", "permanent must be statuses from 400 to 599, such as [404], not %d", status)
		}
	}
	if s.Timeout < 0 {
		wrong("timeout", "timeout must not be below zero")
	}
}

// Rules returns when the ledger plans each effect.
func Rules(specs []Spec) []ledger.Rule {
	rules := make([]ledger.Rule, len(specs))
	for i, s := range specs {
		rules[i] = ledger.Rule{Name: s.Name, On: s.On, Alerts: s.Alerts, JobKinds: s.JobKinds}
	}
	return rules
}

// Concurrency returns how many of each effect may be in flight in one process, by name.
func Concurrency(specs []Spec) map[string]int {
	most := make(map[string]int, len(specs))
	for _, s := range specs {
		most[s.Name] = cmp.Or(s.Concurrency, DefaultConcurrency)
	}
	return most
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
			handler = Each(handler, EachOptions{Ledger: o.Ledger, Results: o.Results, Log: o.Log})
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
		return HTTP(HTTPOptions{
			URL: s.URL, Timeout: s.Timeout, Permanent: s.Permanent, AllowPrivate: o.AllowPrivate, Signer: o.Signer, Now: o.Now,
		}), nil
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
