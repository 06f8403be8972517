package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// A plainProgram does what a team writes first for the same work: it splits a file of requests, uploads each
// piece, creates its batch, polls, downloads the results, reads the key of each line, and writes one file. It
// remembers nothing, checks nothing of its input, and sends nothing again.
type plainProgram struct {
	gemini string // its address
	merged *bufio.Writer
	seen   map[string]bool
	// asked are the keys of its requests, each of which must have a result; nil: it does not read them.
	asked map[string]bool
}

// The bounds of a piece, as opledger has them.
const (
	pieceRequests = 10_000
	pieceBytes    = 200 << 20
)

// runPlain is the whole program. keys: it reads the keys of its requests, too.
func runPlain(gemini, input, output string, keys bool) (err error) {
	from, err := os.Open(input)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	p := plainProgram{gemini: gemini, merged: bufio.NewWriterSize(to, 256<<10), seen: map[string]bool{}}
	if keys {
		p.asked = map[string]bool{}
	}
	names, err := p.submit(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		file, err := p.wait(name)
		if err == nil {
			err = p.collect(file)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for key := range p.asked {
		if !p.seen[key] {
			return fmt.Errorf("there is no result of %s", key)
		}
	}
	return p.merged.Flush()
}

// submit makes a batch of each piece of the input.
func (p *plainProgram) submit(input io.Reader) (names []string, err error) {
	var piece bytes.Buffer
	requests := 0
	end := func() error {
		name, err := p.create(piece.Bytes())
		names = append(names, name)
		piece.Reset()
		requests = 0
		return err
	}
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 64<<10), 32<<20)
	for lines.Scan() {
		if requests > 0 && (requests == pieceRequests || piece.Len()+len(lines.Bytes())+1 > pieceBytes) {
			if err := end(); err != nil {
				return nil, err
			}
		}
		if p.asked != nil {
			var line struct {
				Key     string
				Request json.RawMessage
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				return nil, err
			}
			if line.Key == "" || line.Request == nil || p.asked[line.Key] {
				return nil, fmt.Errorf("no request: %s", lines.Bytes())
			}
			p.asked[line.Key] = true
		}
		piece.Write(lines.Bytes())
		piece.WriteByte('\n')
		requests++
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return names, end()
}

// create uploads a piece, and creates its batch.
func (p *plainProgram) create(piece []byte) (string, error) {
	session, err := p.ask(http.MethodPost, p.gemini+"/upload/v1beta/files", []byte(`{"file":{}}`),
		"X-Goog-Upload-Protocol", "resumable", "X-Goog-Upload-Command", "start")
	if err != nil {
		return "", err
	}
	_ = session.Body.Close() // it is empty
	var uploaded struct{ File struct{ Name string } }
	if err := p.into(&uploaded, http.MethodPost, session.Header.Get("X-Goog-Upload-Url"), piece,
		"X-Goog-Upload-Command", "upload, finalize", "X-Goog-Upload-Offset", "0"); err != nil {
		return "", err
	}
	var created struct{ Name string }
	err = p.into(&created, http.MethodPost, p.gemini+"/v1beta/models/gemini-3.5-flash:batchGenerateContent",
		fmt.Appendf(nil, `{"batch":{"displayName":"plain","inputConfig":{"fileName":%q}}}`, uploaded.File.Name))
	return created.Name, err
}

// wait polls until a batch has ended, and returns its file of results.
func (p *plainProgram) wait(name string) (string, error) {
	for {
		var batch struct {
			Done     bool
			Response struct{ ResponsesFile string }
		}
		if err := p.into(&batch, http.MethodGet, p.gemini+"/v1beta/"+name, nil); err != nil {
			return "", err
		}
		if batch.Done {
			return batch.Response.ResponsesFile, nil
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// collect downloads a file of results, and adds its lines to the merged ones.
func (p *plainProgram) collect(file string) error {
	answer, err := p.ask(http.MethodGet, p.gemini+"/v1beta/"+file+":download?alt=media", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 64<<10), 32<<20)
	for lines.Scan() {
		var line struct {
			Key      string
			Response json.RawMessage
			Error    json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		if line.Key == "" || line.Response == nil || p.seen[line.Key] {
			return fmt.Errorf("no result: %s", lines.Bytes())
		}
		p.seen[line.Key] = true
		if _, err := p.merged.Write(append(lines.Bytes(), '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ask sends a request, whose answer must be 200. Headers are names and values in turn.
func (p *plainProgram) ask(method, url string, body []byte, headers ...string) (*http.Response, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body)) //nolint:noctx // it runs to its end, or is killed
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Goog-Api-Key", "plain")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(answer.Body)
		return nil, errors.Join(fmt.Errorf("answered %s: %s", answer.Status, said), answer.Body.Close())
	}
	return answer, nil
}

// into sends a request, and reads its answer.
func (p *plainProgram) into(answer any, method, url string, body []byte, headers ...string) error {
	response, err := p.ask(method, url, body, headers...)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	return json.NewDecoder(response.Body).Decode(answer)
}
