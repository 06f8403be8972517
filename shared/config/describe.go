package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// A Described is a setting for the operator to read.
type Described struct{ Name, Value string }

// Describe returns every setting of a struct that Parse returned, in the order of its fields.
// It shows each value that is no secret, a URL with what may be one masked, and effects by their names and hosts. Of a
// secret it says only whether it is set.
func Describe(settings any) []Described {
	var all []Described
	groups := reflect.ValueOf(settings)
	for i := range groups.NumField() {
		all = append(all, describeGroup(groups.Field(i))...)
	}
	return all
}

func describeGroup(group reflect.Value) (all []Described) {
	for _, field := range reflect.VisibleFields(group.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		if name == "" || name == "-" {
			continue
		}
		value := shownValue(name, group.FieldByIndex(field.Index))
		if l, ok := group.Interface().(Ledger); ok && field.Name == "EffectsText" {
			value = describeEffects(l)
		}
		all = append(all, Described{Name: name, Value: value})
	}
	return all
}

func shownValue(name string, v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Time:
		if value.IsZero() {
			return "not set"
		}
		return value.Format(time.RFC3339)
	case time.Duration:
		return value.String()
	case *time.Duration:
		if value != nil {
			return value.String()
		}
	case bool, int, int64:
		return fmt.Sprint(value)
	}
	if v.IsZero() {
		return "not set"
	}
	switch value := v.Interface().(type) {
	case job.Quotas, job.Prices, operation.Transitions, Store, Words, WebhookKind, trust.Policy:
		return fmt.Sprint(value)
	case string:
		if !secrets[name] {
			return spec.Masked(value)
		}
	}
	return "set"
}

// secrets are the settings that are texts and secrets.
var secrets = map[string]bool{"OPLEDGER_SERVE_TOKEN": true, "GEMINI_API_KEY": true}

// describeEffects names the effects, each with the host that gets it, where the settings say that.
func describeEffects(l Ledger) string {
	hosts, names := spec.Receivers(l.Effects), l.EffectNames()
	for i, name := range names {
		if hosts[name] != "" {
			names[i] += " (" + hosts[name] + ")"
		}
	}
	return strings.Join(names, ", ")
}
