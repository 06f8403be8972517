package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/test/harness"
)

// deployed are the functions by the names that they are deployed under, and the packages that register them.
var deployed = map[string]string{
	"Webhook": "functions/webhook", "Register": "functions/register",
	"Reconcile": "functions/reconcile", "Effects": "functions/effects",
}

const module = "github.com/opledger/opledger/"

// deployedMain is what the buildpack makes of a function: a program that links it alone and serves
// what FUNCTION_TARGET names.
const deployedMain = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "` + module + `%s"
)

func main() {
	if err := funcframework.Start(os.Getenv("PORT")); err != nil {
		log.Fatalf("funcframework.Start: %%v", err)
	}
}
`

// buildFunctions builds a program for each function, all at once.
var buildFunctions = sync.OnceValues(func() (dir string, err error) {
	return buildPrograms("functions", deployed, nil)
})

// buildMeasured builds the functions whose memory is measured, without the race detector, which takes
// several times as much.
var buildMeasured = sync.OnceValues(func() (dir string, err error) {
	return buildPrograms("measured", deployed, nil, "-race=false")
})

// buildPrograms builds a program for each folder's function into a folder of that name, all at
// once. The main packages are inside the module but in an overlay: nothing of them is ever in the
// source tree. More files of the overlay are given by their paths in the module; flags are for the
// go command.
func buildPrograms(name string, folders, overlay map[string]string, flags ...string) (dir string, err error) {
	dir = filepath.Join(binDir, name)
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	replace := map[string]string{}
	for path, source := range overlay {
		absolute, absErr := filepath.Abs(source)
		err = errors.Join(err, absErr)
		replace[filepath.Join(root, path)] = absolute
	}
	list := filepath.Join(binDir, name+".json")
	for program, folder := range folders {
		source := filepath.Join(binDir, program+".go")
		err = errors.Join(err, os.WriteFile(source, fmt.Appendf(nil, deployedMain, folder), 0o600))
		replace[filepath.Join(root, "deployed", program, "main.go")] = source
	}
	text, jsonErr := json.Marshal(map[string]any{"Replace": replace})
	if err = errors.Join(err, jsonErr, os.WriteFile(list, text, 0o600)); err != nil {
		return "", err
	}
	flags = slices.Concat(asTested(), flags, []string{"-overlay", list})
	building := errgroup.Group{}
	for program := range folders {
		building.Go(func() error {
			return harness.Build("", module+"deployed/"+program, filepath.Join(dir, program), flags...)
		})
	}
	return dir, building.Wait()
}

// functionBinary returns the path of the program that serves a function.
func functionBinary(t *testing.T, program string) string {
	t.Helper()
	build := buildFunctions
	if program == teamEffects {
		build = buildTeam
	}
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, program)
}

// TestCloudFunctionsLinkOnlyWhatTheyUse: a deployed function starts while a caller waits, so it
// carries no embedded database, nothing of the tests, of the command and of Gemini's SDK. Only
// Reconcile, and Webhook where it confirms unverified deliveries, look operations up.
func TestCloudFunctionsLinkOnlyWhatTheyUse(t *testing.T) {
	t.Parallel()
	args := []string{"list", "-f", `{{.ImportPath}} {{join .Deps " "}}`}
	for _, folder := range deployed {
		args = append(args, module+folder)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	links := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		all := strings.Fields(line)
		links[all[0]] = all[1:]
	}
	for function, folder := range deployed {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			deps := links[module+folder]
			if len(deps) == 0 {
				t.Fatalf("go list says nothing of %s: %s", folder, out)
			}
			for _, dep := range deps {
				for _, unused := range []string{
					"modernc.org/", "github.com/spf13/", "go.uber.org/goleak",
					module + "scripts", module + "test", module + "shared/ledger/sqlite", module + "shared/ledger/ledgertest",
					module + "shared/ledger/emulator", module + "shared/gemini/geminisim",
					module + "shared/secret/secretsim", module + "shared/effect/storagesim", "google.golang.org/genai",
				} {
					if strings.HasPrefix(dep, unused) {
						t.Errorf("it links %s", dep)
					}
				}
				if strings.HasPrefix(dep, module+"functions/") {
					t.Errorf("it links another function, %s", dep)
				}
			}
			program, err := os.ReadFile(functionBinary(t, function))
			if err != nil {
				t.Fatal(err)
			}
			const asks = "\x00" + module + "shared/gemini/lookup.(*Client).Lookup\x00" // a name of the runtime's own table
			want := function == "Reconcile" || function == "Webhook"
			if got := bytes.Contains(program, []byte(asks)); got != want {
				t.Errorf("that it can look an operation up is %v, want %v", got, want)
			}
		})
	}
}
