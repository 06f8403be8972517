package examples

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
)

// jobOptions has a line of the options of a job, as they are called over HTTP, and one of the limits that may change.
func jobOptions() string {
	var lines string
	for _, of := range []reflect.Type{reflect.TypeFor[job.Options](), reflect.TypeFor[job.Limits]()} {
		var names []string
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "model" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		lines += strings.Join(names, " ") + "\n"
	}
	return lines
}

// printOptions prints the options of jobs.submit and the limits of jobs.change, as they are called over HTTP.
const printOptions = `
from opledger import JobLimits, JobOptions
from opledger._client import camel
for of in JobOptions, JobLimits:
    print(*sorted(camel(dict.fromkeys(of.__optional_keys__))))`

// TestPythonOptions: the package takes each option of a job, and each limit that may change.
func TestPythonOptions(t *testing.T) {
	t.Parallel()
	if out, ok := run(t, pythonDir, nil, python(t), "-c", printOptions); !ok || out != jobOptions() {
		t.Errorf("the package has\n%s, want\n%s", out, jobOptions())
	}
}

var (
	typescriptOption = regexp.MustCompile(`(?m)^  (\w+)\?:`)
	typescriptCall   = regexp.MustCompile(`(?m)^  (?:async )?\*?(\w+)\(`)
)

// allFound returns what the group of a pattern finds in a text.
func allFound(pattern *regexp.Regexp, text string) []string {
	var found []string
	for _, groups := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, groups[1])
	}
	return found
}

// TestTypeScriptOptions: so does that for TypeScript, and says their defaults.
func TestTypeScriptOptions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/scripts/typescript/src/jobs.ts")
	if err != nil {
		t.Fatal(err)
	}
	members := func(of string) []string {
		_, after, _ := strings.Cut(string(text), "export interface "+of+" {")
		body, _, _ := strings.Cut(after, "\n}")
		return allFound(typescriptOption, body)
	}
	limits := members("JobLimits")
	options := append(members("JobOptions extends JobLimits"), limits...)
	slices.Sort(limits)
	slices.Sort(options)
	if got := strings.Join(options, " ") + "\n" + strings.Join(limits, " ") + "\n"; got != jobOptions() {
		t.Errorf("the package has\n%s, want\n%s", got, jobOptions())
	}
	for name, stated := range map[string]string{
		"maxBatches":          fmt.Sprintf(", up to %d; %d", job.MostBatches, job.DefaultMaxBatches),
		"maxRequestsPerBatch": fmt.Sprintf("; %d", job.DefaultMaxRequestsPerBatch),
		"maxBytesPerBatch":    fmt.Sprintf("; %d MiB", job.DefaultMaxBytesPerBatch>>20),
		"maxAttempts":         fmt.Sprintf("; %d", job.DefaultMaxAttempts),
		"pilotFailures":       fmt.Sprintf("; %q", job.DefaultPilotFailures),
	} {
		if !strings.Contains(string(text), stated+". */\n  "+name+"?:") {
			t.Errorf("jobs.ts does not say %q of %s", stated, name)
		}
	}
}

// TestTypeScriptProgress: the type of a job's progress has each number of its batches.
func TestTypeScriptProgress(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/scripts/typescript/src/model.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "  readonly batches?:")
	batches, _, _ := strings.Cut(after, "\n  readonly ")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[progress.Batches]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !strings.Contains(batches, `"`+name+`"`) {
			t.Errorf("JobProgress.batches in model.ts has no %s", name)
		}
	}
}

// printCalls prints the calls of a client and of its jobs, without those that are for the package, in camel case.
const printCalls = `
from opledger import Jobs, Opledger
from opledger._client import camel
for of in Opledger, Jobs:
    print(*sorted(camel({name: 0 for name in vars(of) if name[0] != "_" and name not in ("run", "each", "protocol")})))`

// TestClientsHaveTheSameCalls: what can be done from Python can be done from TypeScript, by the same name.
func TestClientsHaveTheSameCalls(t *testing.T) {
	t.Parallel()
	want, ok := run(t, pythonDir, nil, python(t), "-c", printCalls)
	var got string
	for _, file := range []string{"client.ts", "jobs.ts"} {
		text, err := os.ReadFile(root + "/scripts/typescript/src/" + file)
		if err != nil {
			t.Fatal(err)
		}
		calls := slices.DeleteFunc(allFound(typescriptCall, string(text)), func(name string) bool {
			return name == "constructor"
		})
		slices.Sort(calls)
		got += strings.Join(calls, " ") + "\n"
	}
	if !ok || got != want {
		t.Errorf("the package for TypeScript has\n%s, that for Python\n%s", got, want)
	}
}
