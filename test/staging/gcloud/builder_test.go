package gcloud

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func builder(t *testing.T, w world, args ...string) run {
	t.Helper()
	return bash(t, w, "", append([]string{"scripts/builder", "--project", project}, args...)...)
}

// TestBuilder: the account is made once, with the roles that infra/README.md lists for the deployer and
// the one for the log of the build. --dry-run prints the same.
func TestBuilder(t *testing.T) {
	t.Parallel()
	r := builder(t, empty()).want(t, 0)
	var roles []string
	for _, call := range r.matching("gcloud projects add-iam-policy-binding my-project --member=" + member("deployer")) {
		roles = append(roles, regexp.MustCompile(`--role=(\S+)`).FindStringSubmatch(call.Line)[1])
	}
	want := append(deployerRoles(t), "roles/logging.logWriter")
	slices.Sort(roles)
	slices.Sort(want)
	if !slices.Equal(roles, want) {
		t.Errorf("it has %q\nwant   %q", roles, want)
	}
	if n := len(r.matching("service-accounts create opledger-deployer")); n != 1 {
		t.Errorf("the account was made %d times", n)
	}
	if n := len(builder(t, deployed(t)).want(t, 0).matching(" create ")); n != 0 {
		t.Errorf("a second run makes %d things", n)
	}

	printed := builder(t, nil, "--dry-run").want(t, 0)
	compare(t, bash(t, empty(), "", script(t, printed)).want(t, 0).lines(), r.lines())
}

// deployerRoles returns the roles that infra/README.md lists for the deployer.
func deployerRoles(t *testing.T) []string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "infra", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "*Who deploys* needs, on the project:")
	list, _, found := strings.Cut(list, "\n\n")
	roles := regexp.MustCompile("roles/[A-Za-z.]+").FindAllString(list, -1)
	if !found || len(roles) < 10 {
		t.Fatalf("infra/README.md lists %q for who deploys", roles)
	}
	return roles
}

// TestBuilderWrongUse: wrong use is reported, and no program is called.
func TestBuilderWrongUse(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--project is missing": {"--prefix", "x"}, "--region is not known": {"--region", "r"},
	} {
		r := bash(t, nil, "", append([]string{"scripts/builder"}, args...)...).want(t, 2)
		if !strings.Contains(r.stderr, want) || len(r.calls) != 0 {
			t.Errorf("%q: %s, %q", args, r.stderr, r.lines())
		}
	}
}
