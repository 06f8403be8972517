package root_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestJSONEverywhere: every command that prints an outcome has --json, with the same words.
func TestJSONEverywhere(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		"serve": "it runs until it is stopped, and its log is JSON", "console": "so does it",
		"completion": "a shell reads what it prints", "environment": "so does it", "results": "it prints JSON Lines",
	}
	for path, command := range commandtest.Leaves() {
		flag := command.Flags().Lookup("json")
		if why := without[path]; (flag == nil) != (why != "") {
			t.Errorf("opledger %s: has --json: %v, should not because %q", path, flag != nil, why)
		}
		if flag != nil && !strings.HasPrefix(flag.Usage, "print one JSON object") {
			t.Errorf("opledger %s: --json %s", path, flag.Usage)
		}
	}
}

// objects returns the values of a stream of JSON objects, such as stderr's lines.
func objects(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var one map[string]any
		err := decoder.Decode(&one)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		all = append(all, one)
	}
}

// TestJSONOfChanges: with --json a command that changes something prints one object, and nothing but
// objects on stderr.
func TestJSONOfChanges(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	f.Register("batches/b", "batches/c")
	copied := f.Path + ".copy"
	for _, c := range []struct {
		args []string
		want map[string]any
	}{
		{[]string{"abandon", "b", "--reason", "r", "--by", "ops"},
			map[string]any{"operation": "batches/b", "recorded": true}},
		{[]string{"abandon", "b", "--reason", "again", "--by", "me"},
			map[string]any{"operation": "batches/b", "recorded": false}},
		{[]string{"waive", "a", "--effect", "log", "--reason", "r"}, map[string]any{"effect": "log", "recorded": true}},
		{[]string{"backup", copied}, map[string]any{"file": copied}},
		{[]string{"forget", "c", "--yes"}, map[string]any{"operation": "batches/c", "deleted": 1.0}},
		{[]string{"quarantine", "list"}, map[string]any{"next": ""}},
	} {
		s := commandtest.Run(t, nil, append(c.args, "--json", "--store", f.Store())...).Want(t, terminal.ExitDone)
		got := objects(t, s.Out)
		if len(got) != 1 {
			t.Errorf("%v: %s", c.args, s.Out)
			continue
		}
		for field, want := range c.want {
			if got[0][field] != want {
				t.Errorf("%v: %s is %v, want %v", c.args, field, got[0][field], want)
			}
		}
		for _, line := range objects(t, s.Err) {
			if line["note"] == nil && line["severity"] == nil {
				t.Errorf("%v: %v", c.args, line)
			}
		}
	}
}

// TestJSONErrors: with --json an error is the last object on stderr, with the exit code and, of
// several mistakes, each; stdout has nothing. So it is where the flags cannot be read.
func TestJSONErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "--json", "--limit", "0"},
			`{"error":{"code":2,"message":"--limit: it must be at least 1, not 0"}}`},
		{[]string{"list", "--limt", "0", "--json"}, `{"error":{"code":2,"message":"there is no flag --limt; did you mean ` +
			`--limit? See opledger list --help"}}`},
		{[]string{"register", "abc", "--metadata", "[1]", "--json"},
			`{"error":{"code":2,"message":"2 problems, and nothing ` +
				`was done:","problems":["name: `},
		{[]string{"show", "batches/a", "--json", "--store", "sqlite:/nowhere/a<\x1b>.db"},
			`{"error":{"code":3,"message":"there is no ledger in ` +
				`/nowhere/a<\\x1b>.db; name its file with --store sqlite:PATH, or make a new one with opledger serve ` +
				`--store 'sqlite:/nowhere/a<\\x1b>.db'"}}`},
	} {
		s := commandtest.Run(t, nil, c.args...)
		lines := strings.Split(strings.TrimSpace(s.Err), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, c.want) || s.Out != "" {
			t.Errorf("%v: %s, want %s; on stdout %q", c.args, last, c.want, s.Out)
		}
		s.Complaint(t)
		objects(t, s.Err)
	}
}

// TestJSONAsksNothing: with --json a command that would ask does nothing, and says how to do it.
func TestJSONAsksNothing(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	for kept, args := range map[string][]string{
		"nothing was deleted": {"forget", "a"},
		"nothing was run":     {"replay", "--dead"},
	} {
		s := commandtest.Run(t, nil, append(args, "--json", "--store", f.Store())...).Want(t, terminal.ExitUsage)
		lines := objects(t, s.Err)
		said, _ := lines[len(lines)-1]["error"].(map[string]any)
		if said["message"] != kept+"; with --json no question is asked: pass --yes" || s.Out != "" {
			t.Errorf("%v: %s%s", args, s.Out, s.Err)
		}
	}
}
