package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
)

const (
	effectsVariable  = "OPLEDGER_EFFECTS"
	restoredVariable = "OPLEDGER_RESTORED_AT"
)

// Rules returns when each effect is planned.
func (l *Ledger) Rules() []ledger.Rule {
	if l.Taken() {
		return l.taken
	}
	return spec.Rules(l.Effects)
}

// EffectNames returns the names of the effects that may be planned.
func (l *Ledger) EffectNames() []string { return ledger.RuleNames(l.Rules()) }

// Taken reports whether the rules are those that the ledger has stored. What the effects do is not
// known then, so that this process cannot run them.
func (l *Ledger) Taken() bool { return l.taken != nil }

// Stored returns what decides what is planned, for the ledger to keep [L7]. by is what this process is
// called. It holds no URL and no secret: of an effect only its rule.
func (l *Ledger) Stored(by string) ledger.StoredSettings {
	return ledger.NewStoredSettings(by, l.Rules(), l.values())
}

// values returns the settings other than the effects that are not empty, by name, in a form that
// Parse reads.
func (l *Ledger) values() map[string]string {
	values := map[string]string{}
	v := reflect.ValueOf(*l)
	for _, field := range reflect.VisibleFields(v.Type()) {
		name := field.Tag.Get("env")
		if name == "" || name == "-" || name == effectsVariable {
			continue
		}
		if text := settingText(v.FieldByIndex(field.Index).Interface()); text != "" {
			values[name] = text
		}
	}
	return values
}

// settingText returns a setting in a form that Parse reads; empty for a duration or a time that is not set.
func settingText(setting any) string {
	switch value := setting.(type) {
	case *time.Duration:
		if value == nil {
			return ""
		}
		return value.String()
	case time.Time:
		if value.IsZero() {
			return ""
		}
		return value.UTC().Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(setting)
	}
}

// With returns the settings of a command on a ledger with these stored settings: what environ does
// not set is taken from there, and what it sets is kept. environ is what l was parsed from. The error
// joins what is set and differs, each beginning with the variable's name; the settings are usable all
// the same. Of two times of a restore the later one counts, because fences continue from it [S6].
func (l Ledger) With(stored ledger.StoredSettings, environ []string) (Ledger, error) {
	if stored.IsZero() {
		return l, nil
	}
	set, own := Variables(environ), l.values()
	var differences []error
	for _, difference := range l.Changes(stored) {
		name := variableIn(difference)
		if set[name] != "" && name != restoredVariable {
			differences = append(differences, difference)
		}
	}
	environ = Adopt(environ, stored)
	if there := stored.Values[restoredVariable]; later(own[restoredVariable], there) {
		environ = append(environ, restoredVariable+"="+there)
	}
	takes := l.EffectsText == "" // also where the rules are the default ones: the ledger has no handlers
	if takes {
		environ = append(environ, effectsVariable+"="+named(stored.Rules))
	}
	read, err := Parse[struct{ Ledger Ledger }](environ)
	if err != nil {
		return l, errors.Join(append(differences, fmt.Errorf("with what the ledger has stored: %w", err))...)
	}
	if takes {
		read.Ledger.taken, read.Ledger.Effects, read.Ledger.EffectsText = slices.Clone(stored.Rules), nil, ""
	}
	return read.Ledger, errors.Join(differences...)
}

// Adopt returns environ, which has the form of os.Environ, with what a ledger has stored of the settings that
// it does not set, but for the effects [L7]. It is for a command that reads a part of the settings, and may
// be given others that are no good.
func Adopt(environ []string, stored ledger.StoredSettings) []string {
	set, environ := Variables(environ), slices.Clone(environ)
	for name, there := range stored.Values {
		if set[name] == "" {
			environ = append(environ, name+"="+there)
		}
	}
	return environ
}

// Changes returns how the settings differ from stored ones, each beginning with the variable's name.
func (l *Ledger) Changes(stored ledger.StoredSettings) []error {
	var all []error
	own := l.values()
	either := maps.Clone(own)
	maps.Copy(either, stored.Values)
	for _, name := range slices.Sorted(maps.Keys(either)) {
		if here, there := own[name], stored.Values[name]; here != there {
			all = append(all, fmt.Errorf("%s: it is %s here, and %s in the ledger", name, cmp.Or(here, "not set"),
				cmp.Or(there, "not set")))
		}
	}
	return append(all, ruleChanges(l.Stored("").Rules, stored.Rules)...)
}

// later reports whether the second of two times, as values has them, is the later one.
func later(a, b string) bool {
	first, _ := time.Parse(time.RFC3339Nano, a)
	second, _ := time.Parse(time.RFC3339Nano, b)
	return second.After(first)
}

// named are rules as OPLEDGER_EFFECTS has them, so that they are checked as they are there.
func named(rules []ledger.Rule) string {
	type entry struct {
		Name     string   `json:"name"`
		On       []string `json:"on"`
		JobKinds []string `json:"jobKinds,omitempty"`
		Do       string   `json:"do"`
	}
	entries := make([]entry, len(rules))
	for i, rule := range rules {
		entries[i] = entry{Name: rule.Name, On: ends(rule), JobKinds: rule.JobKinds, Do: "log"}
	}
	text, _ := json.Marshal(entries) // texts alone: it has no error
	return string(text)
}

// ends are the states and alerts on which a rule plans its effect.
func ends(rule ledger.Rule) []string {
	return append(diag.Texts(rule.On), diag.Texts(rule.Alerts)...)
}

// ruleChanges says how the rules here differ from those in the ledger. Both are in the order of
// their names.
func ruleChanges(here, there []ledger.Rule) []error {
	var p diag.Problems
	for _, rule := range there {
		switch i := slices.IndexFunc(here, func(r ledger.Rule) bool { return r.Name == rule.Name }); {
		case i < 0:
			p = append(p, fmt.Errorf("OPLEDGER_EFFECTS: it lacks %s, which the ledger has", rule.Name))
		case !reflect.DeepEqual(here[i], rule):
			p = append(p, fmt.Errorf("OPLEDGER_EFFECTS: %s runs %s here, and %s in the ledger", rule.Name, when(here[i]),
				when(rule)))
		}
	}
	for _, rule := range here {
		p.When(!ledger.Plans(there, rule.Name), "OPLEDGER_EFFECTS: it has %s, which the ledger does not have", rule.Name)
	}
	return p
}

// when says when a rule plans its effect.
func when(rule ledger.Rule) string {
	words := "on " + strings.Join(ends(rule), ", ")
	if len(rule.JobKinds) > 0 {
		words += " of " + strings.Join(rule.JobKinds, ", ")
	}
	return words
}
