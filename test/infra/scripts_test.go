package infra_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestScriptsMakeTheSame: scripts/deploy makes, and doctor expects, what Terraform makes: the APIs,
// the limits of the functions, and the push subscription.
func TestScriptsMakeTheSame(t *testing.T) {
	t.Parallel()
	common, deploy, tf := script(t, "common.sh"), script(t, "deploy"), terraform(t)

	_, list, _ := strings.Cut(tf, `resource "google_project_service" "this"`)
	list, _, _ = strings.Cut(list, "]")
	var apis []string
	for _, match := range regexp.MustCompile(`"([a-z]+)\.googleapis\.com"`).FindAllStringSubmatch(list, -1) {
		apis = append(apis, match[1])
	}
	if got := strings.Fields(one(t, common, `(?s)\napis=\((.*?)\)`)[1]); !slices.Equal(got, apis) || len(apis) == 0 {
		t.Errorf("the scripts enable %q, Terraform %q", got, apis)
	}

	for _, function := range functions {
		file, err := os.ReadFile(filepath.Join(root, "infra", function+".tf"))
		if err != nil {
			t.Fatal(err)
		}
		limits := one(t, deploy,
			`\ndeploy `+function+` .*--timeout=(\S+) "?--concurrency=(\$?\w+)"?\n`)
		limits = append(limits, one(t, common, `\nmax_instances=\(.*\b`+function+`=(\d+)`)[1])
		if !strings.Contains(one(t, deploy, `--max-instances FUNCTION=N .*\((.*)\)`)[1], function+"="+limits[3]) {
			t.Errorf("the help of deploy does not say that %s has %s instances", function, limits[3])
		}
		if function == "effects" { // which is told both
			if limits[1] != `$effects_timeout"` || limits[2] != "$effects_slots" {
				t.Errorf("effects is deployed with %q, and not with what it is told", limits[1:])
			}
			limits[1] = one(t, common, `\neffects_timeout=(\d+s)\n`)[1]
			limits[2] = one(t, common, `\neffects_slots=(\d+)\n`)[1]
		}
		timeout := one(t, string(file), `(?:timeout_seconds|reconcile_seconds|effects_seconds) += (\d+)\n`)[1] + "s"
		scaling := one(t, tf,
			function+
				` = optional\(object\(\{\n.*max_instances = optional\(number, (\d+)\), concurrency = optional\(number, (\d+)\)`)
		if want := []string{timeout, scaling[2], scaling[1]}; !slices.Equal(limits[1:], want) {
			t.Errorf("%s: its timeout, concurrency and instances are %q with the script, %q with Terraform", function,
				limits[1:], want)
		}
	}

	got := one(t, common, `\nack_deadline=(\d+) min_retry=(\w+) max_retry=(\w+) max_attempts=(\d+) retention=(\w+)\n`)[1:]
	_, push, _ := strings.Cut(tf, `resource "google_pubsub_subscription" "effects"`)
	var want []string
	for _, argument := range []string{"ack_deadline_seconds", "minimum_backoff", "maximum_backoff",
		"max_delivery_attempts", "message_retention_duration"} {
		want = append(want, one(t, push, argument+` += "?(\w+)"?\n`)[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the push subscription is %q with the script, %q with Terraform", got, want)
	}
}

// TestRuntimeStandsOnce: the runtime of the functions is in one file, which Terraform and the scripts
// read, and builds what go.mod asks for.
func TestRuntimeStandsOnce(t *testing.T) {
	t.Parallel()
	runtime := strings.TrimSpace(read(t, "infra/runtime.txt"))
	if version := one(t, read(t, "go.mod"), `\ngo (\d+)\.(\d+)\b`); runtime != "go"+version[1]+version[2] {
		t.Errorf("the runtime is %s, and go.mod asks for Go %s.%s", runtime, version[1], version[2])
	}
	for name, text := range map[string]string{
		"Terraform": terraform(t), "deploy": script(t, "deploy"), "common.sh": script(t, "common.sh"),
		"cloudbuild.yaml": read(t, "cloudbuild.yaml"),
	} {
		if strings.Contains(text, runtime) {
			t.Errorf("%s names the runtime itself", name)
		}
	}
	for reader, want := range map[string]string{
		terraform(t): `file("${path.module}/runtime.txt")`, script(t, "deploy"): "$(<infra/runtime.txt)",
	} {
		if !strings.Contains(reader, want) {
			t.Errorf("it is not read by %s", want)
		}
	}
}

// TestIntervalsAreThoseOfTheScripts: Terraform and the scripts allow the same schedules.
func TestIntervalsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	for text := range strings.SplitSeq(one(t, script(t, "common.sh"), `\n +(1m .*)\) printf '\*/%s \* \* \* \*'`)[1],
		" | ") {
		interval, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, interval)
	}
	if want := intervals(t); !slices.Equal(got, want) {
		t.Errorf("the scripts know %v, Terraform %v", got, want)
	}
}

func script(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// one returns the first match of a pattern and its groups.
func one(t *testing.T, text, pattern string) []string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("nothing is like %s: has its form changed?", pattern)
	}
	return match
}
