package submit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// maxRequests bounds a file of requests, in bytes: Gemini takes no larger one.
	maxRequests = 2 << 30
	// maxRequest bounds one line of it, in bytes, without its line end.
	maxRequest = 64 << 20
	// listed is how many wrong lines of it an error lists.
	listed = 20
	// jsonLines is the media type of a file of requests.
	jsonLines = "application/jsonl"
)

// Requests submits a batch of requests, one JSON object a line: {"key":…,"request":{…}}. It uploads
// them as a file, however few they are: the results of requests inside a batch come back without
// their keys, and not always in order. Each needs a unique key. config may be nil.
//
// The file is uploaded before the intent is recorded, unless the batch is known to be submitted.
// Gemini deletes it after 48 hours. Errors: ErrInput with the first 20 wrong lines, before anything
// is sent; after a failed upload none of this package's, and nothing was submitted; else as Batch.
func (s *Submitter) Requests(
	ctx context.Context, said operation.Submission, model string, lines io.ReadSeeker, config *genai.CreateBatchJobConfig,
) (Submitted, error) {
	size, err := checkRequests(lines)
	if err != nil {
		return Submitted{}, err
	}
	config = cmp.Or(config, &genai.CreateBatchJobConfig{})
	source := &genai.BatchJobSource{FileName: "files/requests"}
	if err := errors.Join(checkBatch(model, source), s.checkAddress(config.HTTPOptions)); err != nil {
		return Submitted{}, err
	}
	if said.CorrelationID != "" {
		switch intent, err := s.options.Intents.Read(ctx, said.CorrelationID); {
		case errors.Is(err, ledger.ErrNoIntent):
		case err != nil:
			return Submitted{}, err
		case intent.State == ledger.IntentBound:
			return s.Batch(ctx, said, model, source, config) // which submits nothing
		}
	}
	if source.FileName, err = s.upload(ctx, lines, size, config.HTTPOptions); err != nil {
		return Submitted{CorrelationID: said.CorrelationID}, fmt.Errorf("uploading %d bytes of requests: %w", size, err)
	}
	return s.Batch(ctx, said, model, source, config)
}

// checkRequests returns the size of lines, from their beginning. The error wraps ErrInput.
func checkRequests(lines io.ReadSeeker) (int64, error) {
	size, err := lines.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = lines.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: its requests cannot be read: %w", ErrInput, err)
	}
	if size > maxRequests {
		return 0, fmt.Errorf("%w: its requests have more than %d bytes, which Gemini takes in one file; "+
			"submit several batches", ErrInput, maxRequests)
	}
	seen := map[[16]byte]int{} // the line of each key, whose digest takes less memory
	var wrong wrongLines
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(make([]byte, 0, 64<<10), maxRequest+1)
	n := 1
	for ; scanner.Scan(); n++ {
		wrong.add(n, checkRequest(bytes.TrimSpace(scanner.Bytes()), n, seen))
	}
	if err = scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it has more than %d bytes", maxRequest)
	}
	wrong.add(n, err)
	if err := wrong.err(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if len(seen) == 0 {
		return 0, fmt.Errorf("%w: it has no requests", ErrInput)
	}
	return size, nil
}

// wrongLines are the problems of lines, so that all can be corrected at once.
type wrongLines struct {
	first []string
	more  int
}

func (w *wrongLines) add(n int, problem error) {
	switch {
	case problem == nil:
	case len(w.first) == listed:
		w.more++
	default:
		w.first = append(w.first, fmt.Sprintf("line %d: %v", n, problem))
	}
}

// err returns an error with a line for each; nil where there are none.
func (w *wrongLines) err() error {
	switch {
	case len(w.first) == 0:
		return nil
	case len(w.first) == 1:
		return errors.New(w.first[0])
	}
	text := fmt.Sprintf("%d lines are wrong\n  %s", len(w.first)+w.more, strings.Join(w.first, "\n  "))
	if w.more > 0 {
		text += fmt.Sprintf("\n  and %d more", w.more)
	}
	return errors.New(text)
}

// checkRequest checks a line, which may be empty, and remembers its key.
func checkRequest(line []byte, n int, seen map[[16]byte]int) error {
	if len(line) == 0 {
		return nil
	}
	var request struct {
		Key     string                     `json:"key"`
		Request map[string]json.RawMessage `json:"request"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return fmt.Errorf(`it is not {"key":…,"request":{…}}: %w`, err)
	}
	if decoder.InputOffset() != int64(len(line)) {
		return errors.New("something follows the JSON object")
	}
	if len(request.Request) == 0 {
		return errors.New(`it has no request, as in {"key":…,"request":{"contents":[…]}}`)
	}
	if request.Key == "" {
		return errors.New("it has no key, which identifies its result; give each request a key of its own")
	}
	digest := sha256.Sum256([]byte(request.Key))
	key := [16]byte(digest[:16])
	if first, twice := seen[key]; twice {
		return fmt.Errorf("its key %.100q is also that of line %d; give each request a key of its own", request.Key, first)
	}
	seen[key] = n
	return nil
}

// upload sends requests to Gemini, in pieces, and returns the name of the file.
func (s *Submitter) upload(
	ctx context.Context, lines io.ReadSeeker, size int64, own *genai.HTTPOptions,
) (name string, err error) {
	defer func() { // the SDK asserts the types of what the server sent
		if problem := recover(); problem != nil {
			name, err = "", fmt.Errorf("the answer could not be read: %v", problem)
		}
	}()
	if _, err := lines.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	options := *cmp.Or(own, &genai.HTTPOptions{})
	headers := http.Header{}
	maps.Copy(headers, options.Headers.Clone())
	headers.Set("X-Goog-Upload-Header-Content-Length", strconv.FormatInt(size, 10))
	options.Headers = headers
	file, err := s.options.Gemini.Files.Upload(ctx, lines, &genai.UploadFileConfig{
		HTTPOptions: &options, MIMEType: jsonLines,
	})
	if err != nil {
		return "", err
	}
	if file.Name == "" {
		return "", errors.New("the answer has no name")
	}
	return file.Name, nil
}
