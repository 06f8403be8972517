package geminisim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// input is what an uploaded file asks, one JSON object a line. It never changes. It has 8 bytes of
// memory for each request: the rest is read again where it is wanted.
type input struct {
	content  *content
	lines    []int64 // where each request's line begins, and where the last one ends
	bytes    int64   // of the requests, without their keys
	poisoned bool    // a line has Config.Poison
}

// asks returns what the file asks, which is read once. The error is about its content.
func (u *upload) asks(poison string) (*input, error) {
	u.asked.Do(func() { u.input, u.inputIs = readInput(&u.content, []byte(poison)) })
	return u.input, u.inputIs
}

func readInput(c *content, poison []byte) (*input, error) {
	from, err := c.open()
	if err != nil {
		return nil, err
	}
	in := &input{content: c}
	err = in.read(from, poison)
	return in, errors.Join(err, from.close())
}

func (in *input) read(from *contentReader, poison []byte) error {
	r := bufio.NewReaderSize(&sequence{of: from}, readAhead)
	var long []byte
	for at, next := int64(0), int64(0); ; at = next {
		line, err := r.ReadSlice('\n')
		for long = long[:0]; errors.Is(err, bufio.ErrBufferFull); line, err = r.ReadSlice('\n') {
			long = append(long, line...)
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		next = at + int64(len(line))
		if len(bytes.TrimSpace(line)) > 0 {
			request := requestIn(line)
			if request == nil {
				return fmt.Errorf(`request %d of the file is not {"key":…,"request":{…}}`, len(in.lines)+1)
			}
			in.lines, in.bytes = append(in.lines, at), in.bytes+int64(len(request))
			in.poisoned = in.poisoned || len(poison) > 0 && bytes.Contains(line, poison)
		}
		if err != nil {
			break
		}
	}
	if len(in.lines) == 0 {
		return errors.New("the file has no requests")
	}
	in.lines = slices.Clip(append(in.lines, in.content.size))
	return nil
}

// sequence reads a content from its beginning to its end.
type sequence struct {
	of *contentReader
	at int64
}

func (s *sequence) Read(p []byte) (int, error) {
	to := min(s.at+int64(len(p)), s.of.of.size)
	if to == s.at {
		return 0, io.EOF
	}
	b, err := s.of.read(s.at, to)
	s.at = to
	return copy(p, b), err
}

// requestIn returns the request of a line; nil where it is none.
func requestIn(line []byte) json.RawMessage {
	var request struct {
		Key     string
		Request json.RawMessage
	}
	if json.Unmarshal(line, &request) != nil || !bytes.HasPrefix(request.Request, []byte("{")) {
		return nil
	}
	return request.Request
}

// size is how many requests there are.
func (in *input) size() int { return len(in.lines) - 1 }

// line returns the ith request. It is valid until the next one is read.
func (in *input) line(r *contentReader, i int) ([]byte, error) {
	line, err := r.read(in.lines[i], in.lines[i+1])
	if err != nil {
		return nil, fmt.Errorf("geminisim: reading request %d of an uploaded file again: %w", i+1, err)
	}
	return line, nil
}

// keyOf returns the key of a request, "" if it has none.
func keyOf(line []byte) string {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"key":"`)); ok {
		end := bytes.IndexAny(rest, `"\`)
		if end >= 0 && rest[end] == '"' {
			return string(rest[:end])
		}
	}
	var request struct{ Key string }
	_ = json.Unmarshal(line, &request) // readInput has refused what is no request
	return request.Key
}

// wantsJSON reports whether a request asks for an answer that is JSON.
func wantsJSON(line []byte) bool {
	for _, field := range []string{
		`"application/json"`, `"responseSchema"`, `"response_schema"`, `"responseJsonSchema"`, `"response_json_schema"`,
	} {
		if bytes.Contains(line, []byte(field)) {
			return true
		}
	}
	return false
}
