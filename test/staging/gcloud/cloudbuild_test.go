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

// A build holds the fields of cloudbuild.yaml that the tests read.
type build struct {
	Substitutions  map[string]string
	ServiceAccount string `yaml:"serviceAccount"`
	Steps          []struct {
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

// substitution matches a substitution of Cloud Build; $$ is a dollar for the step.
var substitution = regexp.MustCompile(`\$\$|\$\{?([A-Z_]+)\}?`)

// script returns the script of a step after substitution: the declared values, with these changes.
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

// TestCloudBuild: the steps are in order, each is a valid shell script and names existing scripts
// only; every used substitution is declared, and every declared one used: Cloud Build refuses both
// errors.
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
		if out, err := exec.CommandContext(t.Context(), step.Entrypoint, "-n", "-c",
			b.script(t, step.ID, nil)).CombinedOutput(); err != nil {
			t.Errorf("the step %s: %v %s", step.ID, err, out)
		}
	}
	if want := []string{"check", "test", "stage", "deploy-gcloud", "deploy-terraform", "smoke"}; !slices.Equal(ids, want) {
		t.Errorf("the steps are %q, want %q", ids, want)
	}
	// These are declared nowhere: Cloud Build refuses a build that does not give them.
	required := []string{"_SERVICE_ACCOUNT", "_GO_DIGEST", "_GCLOUD_DIGEST", "_TERRAFORM_DIGEST"}
	if b.ServiceAccount != "projects/$PROJECT_ID/serviceAccounts/$_SERVICE_ACCOUNT" {
		t.Errorf("the build runs as %q, which must be required", b.ServiceAccount)
	}
	for _, name := range required {
		if _, ok := b.Substitutions[name]; ok {
			t.Errorf("%s has a default", name)
		}
	}
	for name := range used {
		if _, ok := b.Substitutions[name]; !ok && !slices.Contains(required, name) {
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

// TestCloudBuildImages: every image is named by its digest, which the build must be given: a tag can be
// moved to an image that takes the deployer's rights.
func TestCloudBuildImages(t *testing.T) {
	t.Parallel()
	b, _ := cloudbuild(t)
	byDigest := regexp.MustCompile(`^[a-z][a-z./-]+:[a-z0-9.]+@\$_(GO|GCLOUD|TERRAFORM)_DIGEST$`)
	for _, step := range b.Steps {
		if !byDigest.MatchString(step.Name) {
			t.Errorf("the step %s runs in %s", step.ID, step.Name)
		}
	}
}

// step runs a step as Cloud Build does, in a folder that stands for /workspace, with these
// substitutions.
func (b build) step(t *testing.T, w world, workspace, id string, given map[string]string) run {
	t.Helper()
	script := strings.ReplaceAll(b.script(t, id, given), "/workspace/", workspace+"/")
	dir := workspace
	if strings.Contains(script, " scripts/") {
		var err error
		if dir, err = root(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range b.Steps {
		if step.ID == id {
			return bashIn(t, dir, w, "", "-c", `exec "$0" "$@"`, step.Entrypoint, "-euc", script)
		}
	}
	t.Fatalf("there is no step %s", id)
	return run{}
}

// settings is a build's settings file in a bucket. It returns the substitutions, and the world that
// has the file.
func settings(way, text string) (map[string]string, rule) {
	return map[string]string{"_WAY": way, "_SETTINGS": "gs://mine/settings", "_STATE_BUCKET": "mine"},
		rule{Pattern: `^gcloud storage cat gs://mine/settings$`, Out: text}
}

// TestCloudBuildRefuses: without settings nothing is deployed, because everything would go back to
// its default; nor with Terraform if its state is not named, or is empty.
func TestCloudBuildRefuses(t *testing.T) {
	t.Parallel()
	b, _ := cloudbuild(t)
	terraform, _ := settings("terraform", "")
	for want, given := range map[string]map[string]string{
		"_SETTINGS is missing":               nil,
		"_WAY=terraform needs _STATE_BUCKET": {"_WAY": "terraform", "_SETTINGS": "gs://mine/settings"},
		"_WAY must be gcloud or terraform":   {"_WAY": "perl", "_SETTINGS": "gs://mine/settings"},
		"gs://mine/settings: not found":      {"_SETTINGS": "gs://mine/settings"},
		"no/such.options":                    {"_SETTINGS": "no/such.options"},
	} {
		missing := world{{Pattern: `^gcloud storage cat`, Err: "gs://mine/settings: not found\n", Code: 1}}
		if r := b.step(t, missing, t.TempDir(), "check", given).want(t, 1); !strings.Contains(r.stderr, want) {
			t.Errorf("%v: it says %s, want %s", given, r.stderr, want)
		}
	}
	workspace := t.TempDir()
	if err := os.Mkdir(filepath.Join(workspace, "infra"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := b.step(t, world{{Pattern: ` state list`, Code: 1}}, workspace, "deploy-terraform", terraform).want(t, 1)
	if !strings.Contains(r.stderr, "gs://mine/opledger has no state") || len(r.matching(" apply ")) != 0 {
		t.Errorf("it called %q and said %s", r.lines(), r.stderr)
	}
}

// TestCloudBuildWithGcloud: the functions get the settings in the file, and the smoke test calls
// what was deployed.
func TestCloudBuildWithGcloud(t *testing.T) {
	t.Parallel()
	b, _ := cloudbuild(t)
	given, file := settings("gcloud",
		"# mine\n--region us-central1\n--prefix mine\n--set OPLEDGER_GRACE=2m\n--sign-effects\n")
	w, workspace := append(world{
		file,
		{Pattern: `^gcloud functions describe mine-webhook .*=value\(serviceConfig\.uri\)`, Out: "https://webhook.example\n"},
		{Pattern: `^gcloud functions describe mine-register .*=value\(serviceConfig\.uri\)`,
			Out: "https://register.example\n"},
	}, deployed(t)...).withOnly(t), t.TempDir()
	b.step(t, w, workspace, "check", given).want(t, 0)
	r := b.step(t, w, workspace, "deploy-gcloud", given).want(t, 0)
	deploys := r.matching("gcloud functions deploy mine-", "--region=us-central1", "OPLEDGER_GRACE=2m",
		"--project=my-project")
	if len(deploys) != 4 || len(r.matching("OPLEDGER_EFFECT_SECRET=")) != 1 {
		t.Errorf("it called %q", r.lines())
	}
	if r := b.step(t, w, workspace, "deploy-terraform", given).want(t, 0); len(r.calls) != 0 {
		t.Errorf("_WAY=gcloud calls %q", r.lines())
	}
	smoke(t, b, workspace, given)
}

// TestCloudBuildWithTerraform: Terraform gets the file after the project, so that the file takes
// precedence, and the state in the bucket.
func TestCloudBuildWithTerraform(t *testing.T) {
	t.Parallel()
	b, _ := cloudbuild(t)
	given, file := settings("terraform", "project = \"mine\"\n")
	workspace := t.TempDir()
	if err := os.Mkdir(filepath.Join(workspace, "infra"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := world{
		file, {Pattern: ` state list$`, Out: "module.ledger.google_firestore_database.ledger\n"},
		{Pattern: ` output -raw webhook_url$`, Out: "https://webhook.example"},
		{Pattern: ` output -raw register_url$`, Out: "https://register.example"},
	}
	b.step(t, w, workspace, "check", given).want(t, 0)
	if r := b.step(t, w, workspace, "deploy-gcloud", given).want(t, 0); len(r.calls) != 0 {
		t.Errorf("_WAY=terraform calls %q", r.lines())
	}
	r := b.step(t, w, workspace, "deploy-terraform", given).want(t, 0)
	compare(t, r.lines(), []string{
		"terraform -chdir=infra init -input=false -backend-config=bucket=mine -backend-config=prefix=opledger",
		"terraform -chdir=infra state list",
		"terraform -chdir=infra apply -input=false -auto-approve -var=project=my-project " +
			"-var-file=" + workspace + "/.settings",
		"terraform -chdir=infra output -raw webhook_url", "terraform -chdir=infra output -raw register_url",
	})
	if text, err := os.ReadFile(filepath.Join(workspace, ".settings")); err != nil || string(text) != file.Out {
		t.Errorf("the settings are %q, %v", text, err)
	}
	smoke(t, b, workspace, given)
	if err := os.WriteFile(filepath.Join(workspace, ".settings"), []byte("public_webhook = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.step(t, world{{Pattern: `^curl`, Out: "403"}}, workspace, "smoke", given).want(t, 0)
}

// smoke runs the last step after one that deployed: it fails if the webhook or Register does not
// answer as expected.
func smoke(t *testing.T, b build, workspace string, given map[string]string) {
	t.Helper()
	for status, code := range map[string]int{"405 403": 0, "404 403": 1, "403 403": 1, "405 405": 1} {
		answers := strings.Fields(status)
		w := world{{Pattern: `^curl .* https://webhook.example/$`, Out: answers[0]},
			{Pattern: `^curl .* https://register.example/$`, Out: answers[1]}}
		if r := b.step(t, w, workspace, "smoke", given); r.code != code {
			t.Errorf("answers %s: exit code %d, %s%s", status, r.code, r.out, r.stderr)
		}
	}
}
