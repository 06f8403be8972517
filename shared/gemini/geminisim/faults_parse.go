package geminisim

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// ParseFaults returns the preset of that name: none, normal or harsh.
func ParseFaults(name string) (Faults, error) {
	switch name {
	case "none":
		return None(), nil
	case "normal":
		return Normal(), nil
	case "harsh":
		return Harsh(), nil
	}
	return Faults{}, fmt.Errorf("geminisim: no fault plan is named %q: use none, normal or harsh", name)
}

// ParseFault reads a fault in the form name=value, such as expired=1 or lateBy=5m. The name is that of
// a field of Faults in JSON, and the value a share from 0 to 1, or a duration. apply sets the field.
// The error lists the names.
func ParseFault(text string) (apply func(*Faults), err error) {
	name, value, _ := strings.Cut(text, "=")
	field, timed := -1, false
	var shares, durations []string
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Faults]()) {
		known, of := f.Tag.Get("json"), &shares
		if f.Type == reflect.TypeFor[time.Duration]() {
			of = &durations
		}
		*of = append(*of, known)
		if known == name {
			field, timed = i, of == &durations
		}
	}
	if field < 0 {
		return nil, fmt.Errorf("geminisim: no fault is named %q. As in expired=0.1, a share of 1, these are: %s. As in "+
			"lateBy=5m, a duration: %s", name, strings.Join(shares, ", "), strings.Join(durations, ", "))
	}
	if timed {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("geminisim: the fault %s is a duration: write %[1]s=5m, not %q", name, text)
		}
		return func(f *Faults) { reflect.ValueOf(f).Elem().Field(field).SetInt(int64(d)) }, nil
	}
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return nil, fmt.Errorf("geminisim: the fault %s is a share from 0 to 1: write %[1]s=0.1, not %q", name, text)
	}
	return func(f *Faults) { reflect.ValueOf(f).Elem().Field(field).SetFloat(share) }, nil
}
