package infra_test

import (
	"go/ast"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A setting is an entry of settings.json: a variable of the environment, and who sets it.
type setting struct {
	Name      string   `json:"name"`
	Functions []string `json:"functions"` // those that read it
	Commands  bool     `json:"commands"`  // opledger's commands read it, too, and are to be told the same
	// Set is "deployment" where it follows from what is deployed, "operator" where a Terraform
	// variable passes it on, "never" where a deployment leaves it alone.
	Set      string `json:"set"`
	Variable string `json:"variable"` // of Terraform; none where it is never set, or always the same
	Why      string `json:"why"`      // it has no variable
}

// TestEverySettingCanBeSet: settings.json lists, for each function, what its code reads, and
// nothing else [G2].
func TestEverySettingCanBeSet(t *testing.T) {
	t.Parallel()
	groups := settingGroups(t)
	table := readTable[[]setting](t, "settings.json")
	for _, function := range functions {
		read := map[string]bool{}
		for _, group := range groupsOf(t, function) {
			variables, ok := groups[group]
			if !ok {
				t.Errorf("%s uses config.%s, which is not a struct of shared/config", function, group)
			}
			for variable := range variables {
				read[variable] = true
			}
		}
		if len(read) < 5 {
			t.Fatalf("%s reads only %v: has the form of its settings changed?", function, read)
		}
		listed := map[string]bool{}
		for _, s := range table {
			if slices.Contains(s.Functions, function) {
				listed[s.Name] = true
			}
		}
		for variable := range read {
			if !listed[variable] {
				t.Errorf("%s reads %s, but settings.json does not say so", function, variable)
			}
		}
		for variable := range listed {
			if !read[variable] {
				t.Errorf("settings.json says that %s reads %s, but it does not", function, variable)
			}
		}
	}
}

// TestSettingsHaveVariables: every entry says in a known form who sets the setting; its Terraform
// variable exists, and names the setting.
func TestSettingsHaveVariables(t *testing.T) {
	t.Parallel()
	text := terraform(t)
	names := map[string]bool{}
	for _, s := range readTable[[]setting](t, "settings.json") {
		if names[s.Name] {
			t.Errorf("%s is listed twice", s.Name)
		}
		names[s.Name] = true
		if len(s.Functions) == 0 || slices.ContainsFunc(s.Functions, func(f string) bool {
			return !slices.Contains(functions, f)
		}) {
			t.Errorf("%s: there is a function that is none in %v", s.Name, s.Functions)
		}
		switch s.Set {
		case "never":
			if s.Variable != "" || s.Why == "" {
				t.Errorf("%s is never set: it must have a reason, and no variable", s.Name)
			}
		case "operator", "deployment":
			if s.Set == "deployment" && s.Variable == "" && s.Why != "" {
				continue
			}
			description := variable(text, s.Variable, "description")
			if description == "" {
				t.Errorf("%s: Terraform has no variable %q with a description", s.Name, s.Variable)
			}
			if s.Set == "operator" && !strings.HasPrefix(description, s.Name+": ") {
				t.Errorf("the description of variable %s must begin with %s", s.Variable, s.Name)
			}
		default:
			t.Errorf("%s: %q is not a way to be set", s.Name, s.Set)
		}
	}
}

// TestIntervalIsThatOfTheCode: the schedule is made of the variable, which therefore has a default
// of its own.
func TestIntervalIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	text := variable(terraform(t), "interval", "default")
	if got, err := time.ParseDuration(text); err != nil || got != ledger.DefaultSettings().Interval {
		t.Errorf("infra's default is %s, the code's %s", text, ledger.DefaultSettings().Interval)
	}
}

// variable returns a text in the declaration of a Terraform variable; empty if there is none.
func variable(text, name, argument string) string {
	_, declaration, _ := strings.Cut(text, "\nvariable \""+name+"\" {\n")
	declaration, _, _ = strings.Cut(declaration, "\n}\n")
	match := regexp.MustCompile(`(?m)^  ` + argument + ` += "(.*)"$`).FindStringSubmatch(declaration)
	if match == nil {
		return ""
	}
	return match[1]
}

// groupsOf returns the groups of shared/config in a function's settings struct.
func groupsOf(t *testing.T, function string) []string {
	t.Helper()
	var groups []string
	for name, fields := range structs(parse(t, "functions/"+function)) {
		if !strings.EqualFold(name, "settings") {
			continue
		}
		for _, field := range fields.List {
			group, ok := field.Type.(*ast.SelectorExpr)
			if !ok {
				t.Fatalf("%s: a field of its settings is not config.GROUP", function)
			}
			groups = append(groups, group.Sel.Name)
		}
	}
	return groups
}

// settingGroups returns the structs of shared/config: for each, the tags of its fields by the
// variables they are read from.
func settingGroups(t *testing.T) map[string]map[string]reflect.StructTag {
	t.Helper()
	declared := structs(parse(t, "shared/config"))
	groups := map[string]map[string]reflect.StructTag{}
	var variables func(fields *ast.FieldList) map[string]reflect.StructTag
	variables = func(fields *ast.FieldList) map[string]reflect.StructTag {
		found := variablesOf(t, fields)
		for _, field := range fields.List {
			if inner, ok := field.Type.(*ast.Ident); ok && declared[inner.Name] != nil {
				maps.Copy(found, variables(declared[inner.Name]))
			}
		}
		return found
	}
	for name, fields := range declared {
		groups[name] = variables(fields)
	}
	return groups
}

// variablesOf returns the tags of fields that are read from variables, by these.
func variablesOf(t *testing.T, fields *ast.FieldList) map[string]reflect.StructTag {
	t.Helper()
	found := map[string]reflect.StructTag{}
	for _, field := range fields.List {
		if field.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(reflect.StructTag(text).Get("env"), ",")
		if name != "" && name != "-" {
			found[name] = reflect.StructTag(text)
		}
	}
	return found
}

// structs returns the struct types that files declare, by name.
func structs(files []*ast.File) map[string]*ast.FieldList {
	found := map[string]*ast.FieldList{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					found[spec.Name.Name] = s.Fields
				}
			}
			return true
		})
	}
	return found
}
