package commandtest

import (
	"os"
	"path/filepath"
	"testing"
)

// LostLog is the functions' log since the backup: a is registered, b registered and done, c done by
// a run of its own.
const LostLog = `opledger: the ledger is in sqlite:opledger.db
{"event":"intent","correlation":"nightly","jobKind":"night","collection":"batches","outcome":"created"}
{"event":"ingest","operation":"batches/b","outcome":"applied","registered":true}
{"event":"register","operation":"batches/b","name":"projects/p/batches/b","jobKind":"test",` +
	`"correlation":"of-b","outcome":"created","time":"2026-11-21T02:00:00Z"}
{"event":"ingest","operation":"batches/stranger","outcome":"applied","registered":false}
{"event":"effect","operation":"batches/a","effect":"log","outcome":"finished"}
{"event":"effect","operation":"batches/b","effect":"log","outcome":"failed"}
{"event":"effect","operation":"batches/b","effect":"log","outcome":"skipped","reason":"done"}
{"event":"effect","operation":"batches/known","effect":"log","outcome":"finished"}
`

// Lost writes a log into a file, and returns its path.
func Lost(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "serve.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
