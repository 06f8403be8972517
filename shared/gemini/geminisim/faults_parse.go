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
	name, value, found := strings.Cut(text, "=")
	field, names := faultField(name)
	if !found || field < 0 {
		return nil, fmt.Errorf("geminisim: the fault %q is not name=share: the names are %s",
			text, strings.Join(names, ", "))
	}
	if reflect.TypeFor[Faults]().Field(field).Type == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("geminisim: the fault %s is a duration such as 5m, not %q", name, value)
		}
		return func(f *Faults) { reflect.ValueOf(f).Elem().Field(field).SetInt(int64(d)) }, nil
	}
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return nil, fmt.Errorf("geminisim: the fault %s is a share from 0 to 1, not %q", name, value)
	}
	return func(f *Faults) { reflect.ValueOf(f).Elem().Field(field).SetFloat(share) }, nil
}

// faultField returns which field of Faults has that name in JSON, -1 for none, and all their names.
func faultField(name string) (field int, names []string) {
	field = -1
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Faults]()) {
		names = append(names, f.Tag.Get("json"))
		if names[i] == name {
			field = i
		}
	}
	return field, names
}
