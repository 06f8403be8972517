package gcloud

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A build is what the tests read in cloudbuild.yaml.
type build struct {
	Substitutions map[string]string
	Steps         []struct {
		ID, Name, Entrypoint string
		Args                 []string
	}
}

func cloudbuild(t *testing.T) (build, string) {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cloudbuild.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var b build
	if err := yaml.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b, string(text)
}

// substitution is one that Cloud Build makes; $$ is a dollar for the step.
var substitution = regexp.MustCompile(`\$\$|\$\{?([A-Z_]+)\}?`)

// script returns what a step runs, with its substitutions made: the declared ones, but for what is given.
func (b build) script(t *testing.T, id string, given map[string]string) string {
	t.Helper()
	for _, step := range b.Steps {
		if step.ID == id {
			return substitution.ReplaceAllStringFunc(step.Args[1], func(found string) string {
				name := strings.TrimPrefix(found, "$")
				switch value, ok := given[name]; {
				case found == "$$":
					return "$"
				case ok:
					return value
				case name == "PROJECT_ID":
					return project
				}
				return b.Substitutions[name]
			})
		}
	}
	t.Fatalf("there is no step %s", id)
	return ""
}

// TestCloudBuild: the steps come in order, each is a shell script that can be read, names only scripts that are there, and every
// substitution that is used is declared, and the other way round: Cloud Build refuses both.
func TestCloudBuild(t *testing.T) {
	t.Parallel()
	b, text := cloudbuild(t)
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	used := map[string]bool{}
	for _, step := range b.Steps {
		ids = append(ids, step.ID)
		if len(step.Args) != 2 || step.Args[0] != "-euc" {
			t.Fatalf("the step %s has the arguments %q", step.ID, step.Args)
		}
		for _, found := range substitution.FindAllStringSubmatch(step.Name+step.Args[1], -1) {
			if found[1] != "" && found[1] != "PROJECT_ID" {
				used[found[1]] = true
			}
		}
		if out, err := exec.CommandContext(t.Context(), step.Entrypoint, "-n", "-c", b.script(t, step.ID, nil)).CombinedOutput(); err != nil {
			t.Errorf("the step %s: %v %s", step.ID, err, out)
		}
	}
	if want := []string{"check", "test", "stage", "deploy-gcloud", "deploy-terraform", "smoke"}; !slices.Equal(ids, want) {
		t.Errorf("the steps are %q, want %q", ids, want)
	}
	for name := range used {
		if _, ok := b.Substitutions[name]; !ok {
			t.Errorf("%s is used and not declared", name)
		}
	}
	for name := range b.Substitutions {
		if !used[name] {
			t.Errorf("%s is declared and not used", name)
		}
	}
	for _, script := range regexp.MustCompile(`scripts/[a-z/]+`).FindAllString(text, -1) {
		if _, err := os.Stat(filepath.Join(dir, script)); err != nil {
			t.Error(err)
		}
	}
}

// TestCloudBuildSteps runs the steps that call gcloud, and the one that looks at the substitutions.
func TestCloudBuildSteps(t *testing.T) {
	t.Parallel()
	b, _ := cloudbuild(t)
	for _, c := range []struct {
		way, bucket string
		code        int
	}{{"gcloud", "none", 0}, {"terraform", "none", 1}, {"terraform", "mine", 0}, {"perl", "none", 1}} {
		script := b.script(t, "check", map[string]string{"_WAY": c.way, "_STATE_BUCKET": c.bucket})
		bash(t, nil, "", "-euc", script).want(t, c.code)
	}
	for way, functions := range map[string]int{"gcloud": 4, "terraform": 0} {
		r := bash(t, deployed(t), "", "-euc", b.script(t, "deploy-gcloud", map[string]string{"_WAY": way})).want(t, 0)
		if n := len(r.matching("gcloud functions deploy")); n != functions {
			t.Errorf("_WAY=%s deploys %d functions with gcloud", way, n)
		}
	}
	status := func(webhook string) world {
		return append(world{
			{Pattern: `^gcloud functions describe opledger-webhook`, Out: "https://webhook.example\n"},
			{Pattern: `^gcloud functions describe opledger-register`, Out: "https://register.example\n"},
			{Pattern: `^curl .* https://webhook.example/$`, Out: webhook},
			{Pattern: `^curl .* https://register.example/$`, Out: "403"},
		}, answers()...)
	}
	bash(t, status("405"), "", "-euc", b.script(t, "smoke", nil)).want(t, 0)
	bash(t, status("404"), "", "-euc", b.script(t, "smoke", nil)).want(t, 1)
}
