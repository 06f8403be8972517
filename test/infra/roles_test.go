package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A role is an entry of roles.json: who has it, and on what.
type role struct {
	// an account of the deployment, or everybody, callers (of Register), pubsub (its service agent)
	Who  string `json:"who"`
	Role string `json:"role"`
	On   string `json:"on"`   // the kind of thing; database and source are conditions on the project
	Name string `json:"name"` // of the thing, without the prefix
	Only string `json:"only"` // the variable, or what follows from several, without which it is not given
	Why  string `json:"why"`  // what WHO may do by it
	// Buckets are those of source: the beginnings of their names.
	Buckets []string `json:"buckets"`
}

func (r role) String() string {
	return strings.Join([]string{r.Who, r.Role, r.On, r.Name, r.Only}, " ")
}

// TestRoles: infra/ grants exactly the roles of the table, from which the scripts grant theirs; no
// account is Owner or Editor, and one service alone is public [G1].
func TestRoles(t *testing.T) {
	t.Parallel()
	var table []string
	public := 0
	for _, r := range readTable[[]role](t, "roles.json") {
		if r.Why == "" {
			t.Errorf("%s: there must be a reason", r)
		}
		if regexp.MustCompile(`^roles/(owner|editor|viewer)$|[aA]dmin$`).MatchString(r.Role) {
			t.Errorf("%s: that is too much", r)
		}
		if r.On == "source" {
			// Google's page on a build's own service account names these three.
			if want := []string{
				"gcf-v2-sources-NUMBER-REGION", "gcf-v2-uploads-NUMBER-REGION", "run-sources-PROJECT-REGION",
			}; !slices.Equal(r.Buckets, want) {
				t.Errorf("a build reads %q, want %q", r.Buckets, want)
			}
		}
		if r.Who == "everybody" {
			public++
		}
		table = append(table, r.String())
	}
	if public != 1 {
		t.Errorf("%d things are public", public)
	}
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(terraform(t), "")
	if strings.Contains(text, "_iam_policy\"") || strings.Contains(text, "_iam_binding\"") {
		t.Error("a policy or binding takes away what others have given: only members are added")
	}
	given := givenRoles(t, text)
	slices.Sort(table)
	for _, r := range table {
		if !slices.Contains(given, r) {
			t.Errorf("roles.json has %q, infra/ does not give it", r)
		}
	}
	for _, r := range given {
		if !slices.Contains(table, r) {
			t.Errorf("infra/ gives %q, which is not in roles.json", r)
		}
	}
	if len(given) != len(table) {
		t.Errorf("infra/ gives %d roles, roles.json has %d", len(given), len(table))
	}
}

var (
	resource  = regexp.MustCompile(`(?ms)^resource "(google_\w+)" "(\w+)" \{\n(.*?)^\}`)
	attribute = regexp.MustCompile(`(?m)^\s+(\w+)\s*=\s*(.+)$`)
	reference = regexp.MustCompile(`^(google_\w+\.\w+)(\[0\])?\.\w+$`)
)

// givenRoles reads the members that Terraform adds to policies, in the form of role.String.
func givenRoles(t *testing.T, text string) (given []string) {
	t.Helper()
	attributes := map[string]map[string]string{} // by the address of the resource
	for _, block := range resource.FindAllStringSubmatch(text, -1) {
		values := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(block[3], -1) {
			if _, ok := values[a[1]]; !ok { // else it is one of an inner block
				values[a[1]] = a[2]
			}
		}
		attributes[block[1]+"."+block[2]] = values
	}
	// name is what a resource that an expression refers to is called, without the prefix.
	name := func(expression string) string {
		address := reference.FindStringSubmatch(expression)
		if address == nil {
			t.Errorf("%s refers to no resource", expression)
			return ""
		}
		for _, key := range []string{"account_id", "secret_id", "repository_id", "name"} {
			if after, ok := strings.CutPrefix(attributes[address[1]][key], `"${var.name_prefix}-`); ok {
				return strings.TrimSuffix(after, `"`)
			}
		}
		t.Errorf("%s has no name with the prefix", expression)
		return ""
	}
	kinds := map[string][2]string{ // the kind of thing, and the argument that says which
		"google_project_iam_member":                      {"project", ""},
		"google_pubsub_topic_iam_member":                 {"topic", "topic"},
		"google_pubsub_subscription_iam_member":          {"subscription", "subscription"},
		"google_secret_manager_secret_iam_member":        {"secret", "secret_id"},
		"google_service_account_iam_member":              {"account", "service_account_id"},
		"google_artifact_registry_repository_iam_member": {"repository", "repository"},
		"google_cloud_run_v2_service_iam_member":         {"service", "name"},
		"google_storage_bucket_iam_member":               {"bucket", ""}, // of the operator's own
	}
	for address, values := range attributes {
		kind, ok := kinds[strings.Split(address, ".")[0]]
		if !ok {
			if strings.Contains(address, "_iam_member.") {
				t.Errorf("%s is on a kind of thing that this test does not know", address)
			}
			continue
		}
		r := role{Role: strings.Trim(values["role"], `"`), On: kind[0]}
		switch member := values["member"]; member {
		case `"allUsers"`:
			r.Who = "everybody"
		case "each.value":
			r.Who = "callers"
		case "local.pubsub_agent":
			r.Who = "pubsub"
		default:
			r.Who = name(member)
		}
		switch condition := values["expression"]; {
		case values[kind[1]] == "each.value": // of the operator's own
			r.On = "own-" + kind[0]
		case kind[1] != "":
			r.Name = name(values[kind[1]])
		case strings.Contains(condition, "/databases/"):
			r.On = "database"
		case strings.Contains(condition, "local.source_buckets"):
			r.On = "source"
		}
		if only := regexp.MustCompile(`(?:var|local)\.(\w+)`).FindStringSubmatch(
			values["count"] + values["for_each"]); only != nil {
			r.Only = only[1]
		}
		given = append(given, r.String())
	}
	return given
}
