package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOpenForbidden: what one may not write is not opened, and the error says which file it is.
func TestOpenForbidden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		file       bool
		dir        os.FileMode
	}{
		{"a directory without write permission", "in a directory that exists and that one may write in", false, 0o555},
		{"a file without write permission", "readonly", true, 0o777},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := shelf(t)
			path := filepath.Join(dir, "ledger.db")
			if c.file {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			seal(t, dir)
			if err := os.Chmod(dir, c.dir); err != nil {
				t.Fatal(err)
			}
			asReader(t, func() {
				store, err := Open(t.Context(), path, time.Now)
				if err == nil {
					t.Fatalf("it was opened, and closed with %v", store.Close())
				}
				if said := err.Error(); !strings.Contains(said, c.want) || !strings.Contains(said, path) {
					t.Errorf("the error does not say %q and %q: %v", c.want, path, err)
				}
			})
		})
	}
}
