package staging

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// functions are the staged folders, and the entry points in them.
var functions = map[string]string{"webhook": "Webhook", "register": "Register", "reconcile": "Reconcile",
	"effects": "Effects"}

// stage runs scripts/stage.
var stage = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(sourceDir, "staged")
	if out, err := exec.Command("go", "run", "github.com/opledger/opledger/scripts/stage",
		dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("staging: %w\n%s", err, out)
	}
	return dir, nil
})

// A built function is the result of the buildpack on a staged folder.
type built struct {
	source string // the folder, with the main that the buildpack adds
	binary string
	// untidied is why go.mod was not tidied: nil, or the modules that only others' tests need
	// cannot be had.
	untidied error
}

var builds = func() map[string]func() (built, error) {
	all := map[string]func() (built, error){}
	for name, further := range hellos {
		all[name] = sync.OnceValues(func() (built, error) { return hello(name, further) })
	}
	for function := range functions {
		all[function] = sync.OnceValues(func() (built, error) {
			staged, err := stage()
			if err != nil {
				return built{}, err
			}
			return buildpack(filepath.Join(staged, function), filepath.Join(workDir, function))
		})
	}
	return all
}()

func build(t testing.TB, function string) built {
	t.Helper()
	b, err := builds[function]()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// main is what the buildpack adds where the root package imports the framework's package functions:
// its declarative template, less the comments. (GoogleCloudPlatform/buildpacks,
// cmd/go/functions_framework/lib/template_declarative.go)
const declarativeMain = `package main

import (
	"log"
	"net/http"
	"os"

	_ "%s"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
)

func main() {
	http.HandleFunc("/robots.txt", http.NotFound)
	http.HandleFunc("/favicon.ico", http.NotFound)

	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	if err := funcframework.Start(port); err != nil {
		log.Fatalf("Function failed to start: %%v\n", err)
	}
}
`

// buildpack makes the steps of the Go buildpack for a function target (lib.go beside that
// template): it finds the package at the root, checks that it imports the framework's package
// functions, writes a main, tidies and builds.
func buildpack(source, binary string) (built, error) {
	b := built{source: source, binary: binary}
	if err := detect(b.source); err != nil {
		return built{}, err
	}
	module, err := command(b.source, "list", "-m")
	if err != nil {
		return built{}, err
	}
	if first, _, _ := strings.Cut(module, "/"); !strings.Contains(first, ".") {
		return built{}, fmt.Errorf("the first element of the module path %s has no dot", module)
	}
	main := filepath.Join(b.source, "functions.local", "app")
	if err := os.MkdirAll(main, 0o755); err != nil {
		return built{}, err
	}
	if err := os.WriteFile(filepath.Join(main, "main.go"), fmt.Appendf(nil, declarativeMain, module), 0o600); err != nil {
		return built{}, err
	}
	if _, err := command(b.source, "mod", "tidy"); err != nil {
		if !strings.Contains(err.Error(), "GOPROXY=off") {
			return built{}, err
		}
		// Tidying looks at modules that only others' tests need, which no build has brought here:
		// they are downloaded once.
		if _, err := online(b.source, "mod", "tidy"); err != nil {
			b.untidied = err
		}
	}
	// The buildpack runs go build, without these flags. Trimmed paths let the build cache serve all
	// functions, in any folder; what only a debugger reads is a third of the linking. What is linked
	// for go run is in the cache, too: that is harness.Build, without network.
	_, err = command(b.source, "run", "-exec=cp", "-trimpath", "-ldflags=-w", "./functions.local/app", b.binary)
	return b, err
}

// detect parses the package at the root, as the buildpack does.
func detect(dir string) error {
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("unable to find a Go package in %s: %w", dir, err)
	}
	declarative := false
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if file.Name.Name != "app" {
			return fmt.Errorf("%s is in package %s", source, file.Name.Name)
		}
		for _, imported := range file.Imports {
			declarative = declarative ||
				imported.Path.Value == `"github.com/GoogleCloudPlatform/functions-framework-go/functions"`
		}
	}
	if !declarative {
		return errors.New("the root does not import the framework's package functions: the buildpack would look for a " +
			"variable of the target's name")
	}
	return nil
}

// command runs the go command in a folder, without network and independent of the surrounding tree.
func command(dir string, args ...string) (string, error) {
	return goCommand(dir, []string{"GOPROXY=off"}, args...)
}

// online is command with this machine's network.
func online(dir string, args ...string) (string, error) { return goCommand(dir, nil, args...) }

func goCommand(dir string, variables []string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir, c.Env = dir, append(append(os.Environ(), "GOWORK=off"), variables...)
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// TestBuildpack: the buildpack builds a program from each staged package. It has the tested
// versions. It starts while a caller waits, so it links no embedded database, nothing of the tests, of the
// command, of Gemini's SDK and of another function. Only Reconcile, and Webhook where it confirms unverified
// deliveries, look operations up.
func TestBuildpack(t *testing.T) {
	t.Parallel()
	want := versions(t, ".")
	for function := range functions {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			b := build(t, function)
			info, err := buildinfo.ReadFile(b.binary)
			if err != nil {
				t.Fatal(err)
			}
			for _, dep := range info.Deps {
				if want[dep.Path] != dep.Version {
					t.Errorf("it is built of %s %s, and what is tested of %s", dep.Path, dep.Version, want[dep.Path])
				}
				for _, unused := range []string{
					"modernc.org/", "github.com/spf13/", "go.uber.org/goleak", "google.golang.org/genai",
				} {
					if strings.HasPrefix(dep.Path, unused) {
						t.Errorf("it links %s", dep.Path)
					}
				}
			}
			// Of this module it can link only what is in the folder.
			unused := []string{
				"scripts", "test", "shared/ledger/sqlite", "shared/ledger/ledgertest", "shared/ledger/emulator",
				"shared/gemini/geminisim", "shared/secret/secretsim", "shared/effect/storagesim",
			}
			for other := range functions {
				if other != function {
					unused = append(unused, "functions/"+other)
				}
			}
			for _, folder := range unused {
				if _, err := os.Stat(filepath.Join(b.source, folder)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is in what is built: %v", folder, err)
				}
			}
			program, err := os.ReadFile(b.binary)
			if err != nil {
				t.Fatal(err)
			}
			// a name of the runtime's own table
			const asks = "\x00github.com/opledger/opledger/shared/gemini/lookup.(*Client).Lookup\x00"
			mayAsk := function == "reconcile" || function == "webhook"
			if got := bytes.Contains(program, []byte(asks)); got != mayAsk {
				t.Errorf("that it can look an operation up is %v, want %v", got, mayAsk)
			}
			if b.untidied != nil {
				harness.Missing(t, "go.mod could not be tidied as the buildpack does it: tidying needs the modules of others' "+
					"tests; run \"go mod tidy -diff\" where a module proxy can be reached: "+b.untidied.Error())
			}
			if tidied := versions(t, b.source); tidied["modernc.org/sqlite"] != "" {
				t.Error("the tidied go.mod still has SQLite")
			}
		})
	}
}

// versions returns the version of each module that the build of a folder may use.
func versions(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := command(dir, "mod", "edit", "-json")
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(text), &mod); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, require := range mod.Require {
		all[require.Path] = require.Version
	}
	return all
}
