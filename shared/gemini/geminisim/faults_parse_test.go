package geminisim_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestParseFaults(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]geminisim.Faults{"none": {}, "normal": geminisim.Normal(),
		"harsh": geminisim.Harsh()} {
		if got, err := geminisim.ParseFaults(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := geminisim.ParseFaults("Harsh"); err == nil || !strings.Contains(err.Error(), "none, normal or harsh") {
		t.Errorf("error %v", err)
	}
}

// TestParseFault: each field of a plan can be set by its name, and nothing else can.
func TestParseFault(t *testing.T) {
	t.Parallel()
	want := geminisim.Faults{Expired: 1, BadJSON: 0.25, LateBy: 5 * time.Minute}
	var got geminisim.Faults
	for _, text := range []string{"expired=1", "badJSON=0.25", "lateBy=5m"} {
		apply, err := geminisim.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		apply(&got)
	}
	if got != want {
		t.Errorf("%+v", got)
	}
	for text, says := range map[string]string{
		"": "these are: failed, cancelled, expired", "Expired=1": "a duration: repeatedWithin, lateBy",
		"expired": "from 0 to 1: write expired=0.1", "expired=2": "from 0 to 1", "expired=-1": "from 0 to 1",
		"expired=NaN": "from 0 to 1", "expired=": "from 0 to 1",
		"lateBy=0.5": "a duration: write lateBy=5m", "lateBy=-1s": "a duration: write lateBy=5m",
	} {
		if apply, err := geminisim.ParseFault(text); err == nil || apply != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[geminisim.Faults]()) {
		value := map[bool]string{true: "1s", false: "1"}[field.Type == reflect.TypeFor[time.Duration]()]
		apply, err := geminisim.ParseFault(field.Tag.Get("json") + "=" + value)
		if err != nil {
			t.Error(err)
			continue
		}
		var f geminisim.Faults
		if apply(&f); reflect.ValueOf(f).FieldByIndex(field.Index).IsZero() {
			t.Errorf("%s is not set", field.Name)
		}
	}
}
