package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// A Described is a setting for the operator to read.
type Described struct{ Name, Value string }

// Describe returns every setting of a struct that Parse returned, in the order of its fields.
// Durations, times, numbers and switches are shown, and effects by their names. Of every other
// setting it says only whether it is set: it may be a secret, or a URL that holds one.
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
		value := shownValue(group.FieldByIndex(field.Index))
		if l, ok := group.Interface().(Ledger); ok && field.Name == "EffectsText" {
			value = strings.Join(l.EffectNames(), ", ")
		}
		all = append(all, Described{Name: name, Value: value})
	}
	return all
}

func shownValue(v reflect.Value) string {
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
	return "set"
}
