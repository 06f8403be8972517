package harness

import (
	"fmt"
	"os/exec"
)

// Build builds the program in a room, a folder below dir or an import path, to the file path. flags
// are those of go build. No debugger can read the program: what only that needs is left out.
//
// It is `go run` whose run is a copy, because the go command keeps what it links for go run in its
// cache, and links for go build each time. All packages of tests share one opledger that way.
func Build(dir, room, path string, flags ...string) error {
	command := exec.Command("go", append(append([]string{"run", "-exec=cp"}, flags...), room, path)...)
	command.Dir = dir
	// The go command ends so soon that to collect its garbage only costs: a fifth of its time.
	command.Env = append(command.Environ(), "GOGC=400")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", room, err, out)
	}
	return nil
}
