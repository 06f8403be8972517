package effect

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Spec is one entry of the effects in the settings: when an effect is planned, and what it does.
type Spec struct {
	Name string            `yaml:"name"`
	On   []operation.State `yaml:"on"`
	// Alerts stand among the states of on in the settings.
	Alerts   []ledger.Alert `yaml:"-"`
	JobKinds []string       `yaml:"jobKinds"`
	// Do names the handler: log or http.
	Do string `yaml:"do"`
	// URL is where http posts to; Timeout bounds one attempt.
	URL     string        `yaml:"url"`
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

func (s Spec) problem() error {
	switch s.Do {
	case "log":
		return nil
	case "http":
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("effect %q: url must be an http or https URL, not %q", s.Name, s.URL)
		}
		if s.Timeout < 0 {
			return fmt.Errorf("effect %q: timeout must not be below zero", s.Name)
		}
		return nil
	default:
		return fmt.Errorf("effect %q: do must be log or http, not %q", s.Name, s.Do)
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

// HandlerOptions are what handlers take beside their specs.
type HandlerOptions struct {
	Log          *slog.Logger
	AllowPrivate bool
	Now          func() time.Time
}

// Handlers returns the handler of each effect, by name. specs are as ParseSpecs or Default returned them.
func Handlers(specs []Spec, o HandlerOptions) map[string]Handler {
	handlers := make(map[string]Handler, len(specs))
	for _, s := range specs {
		switch s.Do {
		case "log":
			handlers[s.Name] = Log(o.Log)
		case "http":
			handlers[s.Name] = HTTP(HTTPOptions{URL: s.URL, Timeout: s.Timeout, AllowPrivate: o.AllowPrivate, Now: o.Now})
		}
	}
	return handlers
}
