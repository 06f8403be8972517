package config

import (
	"reflect"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/effect/spec"
)

// A Described is a setting for the operator to read.
type Described struct{ Name, Value string }

// Describe returns every setting of a struct that Parse returned, in the order of its fields. It shows numbers, times
// and what its field declares as no secret with the tag secret:"no", there with what may be one in a URL masked. Of any
// other setting it says only whether it is set, and of effects their names and hosts.
func Describe(settings any) []Described {
	var all []Described
	for _, group := range reflect.ValueOf(settings).Fields() {
		all = append(all, describeGroup(group)...)
	}
	return all
}

func describeGroup(group reflect.Value) (all []Described) {
	for _, field := range reflect.VisibleFields(group.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		if name == "" || name == "-" {
			continue
		}
		value := shownValue(group.FieldByIndex(field.Index), field.Tag.Get("secret") == "no")
		if l, ok := group.Interface().(Ledger); ok && field.Name == "EffectsText" {
			value = describeEffects(l)
		}
		all = append(all, Described{Name: name, Value: value})
	}
	return all
}

func shownValue(v reflect.Value, shown bool) string {
	text := settingText(v.Interface())
	switch v.Interface().(type) {
	case time.Duration, bool, int, int64:
		return text // zero is a value, too
	case time.Time, *time.Duration:
		shown = true
	}
	switch {
	case v.IsZero():
		return "not set"
	case shown:
		return spec.Masked(text)
	default:
		return "set"
	}
}

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
