package job_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/job"
)

func TestSplitLine(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", `"`, `\`, `a\"b`, "ü", "\u2028<&>", `","request":{`, `}`} {
		line := job.Request{Key: key, Body: json.RawMessage(body)}.AppendLine([]byte("before"))[len("before"):]
		if !json.Valid(line) || line[len(line)-1] != '\n' {
			t.Errorf("%q", line)
		}
		for _, line := range [][]byte{line, line[:len(line)-1]} {
			r, err := job.SplitLine(line)
			if err != nil || r.Key != key || string(r.Body) != body {
				t.Errorf("%q: %+v, %v", line, r, err)
			}
		}
	}
}

func TestSplitLineRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "\n", `{`, `{"key":`, `{"key":"`, `{"key":"\"`, `{"key":"a"`, `{"key":"a"}`,
		`{"key":"a","request":`, `{"key":"a","request":{}`, `{"key":"a","request":}`,
		`{"key":1,"request":{}}`, `{"key": "a","request":{}}`, `{"request":{},"key":"a"}`, `{"key":"a","request":[]}`,
		`x{"key":"a","request":{}}`,
	} {
		if r, err := job.SplitLine([]byte(line)); !errors.Is(err, job.ErrNotCanonical) || r.Key != "" {
			t.Errorf("%q: %+v, %v", line, r, err)
		}
	}
}
