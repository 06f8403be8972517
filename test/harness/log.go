package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
)

// A Log keeps what is logged, to be looked at.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps a line.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Drain returns the lines since the last Drain, each a JSON object.
func (l *Log) Drain(t testing.TB) []map[string]any {
	t.Helper()
	l.mu.Lock()
	text := bytes.Clone(l.text.Bytes())
	l.text.Reset()
	l.mu.Unlock()
	var all []map[string]any
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var line map[string]any
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("a log line is not JSON: %v in\n%s", err, text)
		}
		all = append(all, line)
	}
}
