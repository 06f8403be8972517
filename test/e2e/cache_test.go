package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// dependOnSources looks at every file that the binaries are built from. Of those the go command
// knows nothing: it keeps the result of a passed test until something changes that the test itself
// links or looked at, and would go on saying "ok (cached)" for a binary that no test has run. What
// is read before the first test does not count.
var dependOnSources = sync.OnceValue(func() error {
	var problems []error
	for _, folder := range []string{
		"../../scripts", "../../functions", "../../shared", "testdata", "../../go.mod", "../../go.sum",
	} {
		problems = append(problems, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		}))
	}
	return errors.Join(problems...)
})
