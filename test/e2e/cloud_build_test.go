package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// deployed are the packages of the functions.
var deployed = []string{"functions/webhook", "functions/register", "functions/reconcile", "functions/effects"}

const module = "github.com/opledger/opledger/"

// deployedMain is what the buildpack makes of a function: a program that links it and serves what
// FUNCTION_TARGET names.
const deployedMain = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

%s)

func main() {
	if err := funcframework.Start(os.Getenv("PORT")); err != nil {
		log.Fatalf("funcframework.Start: %%v", err)
	}
}
`

// mainOf returns deployedMain for the functions in packages of the module.
func mainOf(packages ...string) []byte {
	var imports strings.Builder
	for _, one := range packages {
		fmt.Fprintf(&imports, "\t_ %q\n", module+one)
	}
	return fmt.Appendf(nil, deployedMain, &imports)
}

// buildFunctions builds the program of the functions. A deployment has one for each, as test/staging builds them; to
// load and link one here takes a fourth of the time.
var buildFunctions = sync.OnceValues(func() (program string, err error) {
	return buildProgram("functions", deployed, nil)
})

// buildMeasured builds the program of the functions whose memory is measured, without the race detector, which takes
// several times as much.
var buildMeasured = sync.OnceValues(func() (program string, err error) {
	if !raceEnabled {
		return buildFunctions()
	}
	return buildProgram("measured", deployed, nil, "-race=false")
})

// buildProgram builds a program of that name for the functions in packages. The main package is inside
// the module but in an overlay: nothing of it is ever in the source tree. More files of the overlay are
// given by their paths in the module; flags are for the go command.
func buildProgram(name string, packages []string, overlay map[string]string, flags ...string) (string, error) {
	root, err := filepath.Abs("../..")
	source := filepath.Join(binDir, name+".go")
	replace := map[string]string{filepath.Join(root, "deployed", name, "main.go"): source}
	for path, file := range overlay {
		replace[filepath.Join(root, path)] = filepath.Join(root, "test/e2e", file)
	}
	text, jsonErr := json.Marshal(map[string]any{"Replace": replace})
	list := filepath.Join(binDir, name+".json")
	if err := errors.Join(err, jsonErr, os.WriteFile(source, mainOf(packages...), 0o600),
		os.WriteFile(list, text, 0o600)); err != nil {
		return "", err
	}
	program := filepath.Join(binDir, name)
	flags = append(append(asTested(), flags...), "-overlay", list)
	return program, harness.Build("", module+"deployed/"+name, program, flags...)
}

// functionBinary returns the path of the program that serves a function.
func functionBinary(t *testing.T, function string) string {
	t.Helper()
	build := buildFunctions
	if function == teamEffects {
		build = buildTeam
	}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}
