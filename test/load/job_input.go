package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// requestKey is the key of the nth request.
func requestKey(n int) string { return fmt.Sprintf("review-%07d", n) }

// writeInput writes the input of a job, each line of which has the row's bytes with its line end.
func writeInput(path string, row jobRow) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making the input: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	const sentence = `It came late, and the box was \"open\".\n`
	text := strings.Repeat(sentence, row.bytes/len(sentence)+1)
	w := bufio.NewWriterSize(file, 1<<20)
	for i := range row.requests {
		before := fmt.Sprintf(`{"key":%q,"request":{"contents":[{"role":"user","parts":[{"text":"Is it good? `, requestKey(i))
		const after = `."}]}]}}` + "\n"
		room := row.bytes - len(before) - len(after)
		whole := room / len(sentence) * len(sentence) // an escape is not cut
		_, err = fmt.Fprint(w, before, text[:whole], strings.Repeat("!", room-whole), after)
		if err != nil {
			return fmt.Errorf("writing the input: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the input: %w", err)
	}
	return nil
}

// checkOutput returns an error unless a file of results has each key once, with the answer to it.
func checkOutput(path string, row jobRow) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the results: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	seen := make([]bool, row.requests)
	lines := 0
	for reader := bufio.NewReaderSize(file, 1<<20); ; lines++ {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the results: %w", err)
		}
		var result struct{ Key string }
		if err := json.Unmarshal(line, &result); err != nil {
			return fmt.Errorf("line %d of the results: %w", lines+1, err)
		}
		var n int
		if _, err := fmt.Sscanf(result.Key, "review-%d", &n); err != nil || n < 0 || n >= row.requests ||
			requestKey(n) != result.Key || seen[n] {
			return fmt.Errorf("line %d of the results has the key %q, of no request or a second time", lines+1, result.Key)
		}
		if !bytes.Contains(line, []byte("Result of "+result.Key)) {
			return fmt.Errorf("line %d of the results is not the answer to %s: %.300s", lines+1, result.Key, line)
		}
		seen[n] = true
	}
	if lines != row.requests {
		return fmt.Errorf("the results have %d lines, not %d", lines, row.requests)
	}
	return nil
}
