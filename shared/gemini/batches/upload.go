package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
)

const (
	// mimeType is what Gemini's guide of batches calls a file of requests.
	mimeType = "application/jsonl"
	// maxDisplayName bounds a file's display name, in bytes; Gemini takes 512 characters.
	maxDisplayName = 512
	// pieceBytes is about the size of a piece, which is held in memory. It is the SDK's.
	pieceBytes = 8 << 20
	// usualGranularity is what the size of a piece must be a multiple of where Gemini does not say.
	usualGranularity = 256 << 10
	// maxGranularity bounds what an answer can make an upload hold.
	maxGranularity = 64 << 20
)

// A File is an uploaded file.
type File struct {
	// Name is the file's, as files/….
	Name string
	// Size is in bytes.
	Size int64
	// ExpiresAt is when Gemini deletes it, after 48 hours; zero where it does not say.
	ExpiresAt time.Time
}

// Upload uploads JSON Lines of exactly size bytes. It holds one piece of them, of about 8 MiB. display is
// the file's name for people.
//
// A piece whose answer is lost, or that Gemini asks to send later, goes on where Gemini says, five times
// at most, after 1 s, 2 s, 4 s, 8 s and 16 s. The call may be repeated from the beginning of the content.
//
// Errors: an *[api.Error] for Gemini's refusal; one that wraps [api.ErrInterrupted] of the connection;
// the content's own; the context's; or about the answer or the size.
func (c *Client) Upload(ctx context.Context, display string, size int64, content io.Reader) (File, error) {
	if size < 0 {
		return File{}, fmt.Errorf("uploading a file: it cannot have %d bytes", size)
	}
	session, err := c.start(ctx, display, size)
	if err != nil {
		return File{}, fmt.Errorf("uploading a file of %d bytes: %w", size, err)
	}
	var answer uploaded
	if err := send(ctx, session, size, content, &answer); err != nil {
		return File{}, fmt.Errorf("uploading a file of %d bytes: %w", size, err)
	}
	file, err := answer.file(size)
	if err != nil { // in which a server may repeat the key
		return File{}, errors.New(c.api.Redact(fmt.Sprintf("uploading a file of %d bytes: %v", size, err), maxProblem))
	}
	return file, nil
}

// start starts an upload.
func (c *Client) start(ctx context.Context, display string, size int64) (*api.Upload, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	type file struct {
		DisplayName string `json:"displayName,omitempty"`
		MIMEType    string `json:"mimeType"`
	}
	return c.api.StartUpload(ctx, mimeType, size, struct {
		File file `json:"file"`
	}{file{DisplayName: diag.Cut(display, maxDisplayName), MIMEType: mimeType}})
}

// send sends the content piece by piece, and reads the answer to the last.
func send(ctx context.Context, session *api.Upload, size int64, content io.Reader, answer *uploaded) error {
	granularity := session.Granularity
	if granularity <= 0 {
		granularity = usualGranularity
	}
	if granularity > maxGranularity {
		return fmt.Errorf("the answer asks for pieces of %d bytes, more than %d", granularity, int64(maxGranularity))
	}
	buffer := make([]byte, min(size, max(pieceBytes/granularity, 1)*granularity))
	for offset := int64(0); ; {
		piece := buffer[:min(int64(len(buffer)), size-offset)]
		if _, err := io.ReadFull(content, piece); err != nil {
			return fmt.Errorf("reading the content behind byte %d: %w", offset, api.Unexpected(err))
		}
		last := offset+int64(len(piece)) == size
		if last {
			if err := wantEnd(content); err != nil {
				return err
			}
		}
		if err := sendPiece(ctx, session, offset, piece, last, answer); err != nil || last {
			return err
		}
		offset += int64(len(piece))
	}
}

// wantEnd returns nil where the content ends.
func wantEnd(content io.Reader) error {
	switch n, err := io.ReadFull(content, make([]byte, 1)); {
	case n > 0:
		return errors.New("the content goes on behind its size")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the end of the content: %w", err)
	}
	return nil
}

// An uploaded is the answer to the last piece.
type uploaded struct {
	File struct {
		Name           string          `json:"name"`
		SizeBytes      json.RawMessage `json:"sizeBytes"` // a text: 64-bit on Google's side
		ExpirationTime string          `json:"expirationTime"`
	} `json:"file"`
}

// file returns the file that was made of size bytes. The error quotes the answer.
func (u *uploaded) file(size int64) (File, error) {
	if !fileName().MatchString(u.File.Name) {
		return File{}, fmt.Errorf("the answer names %s, which is no file", diag.QuoteUpTo(u.File.Name, maxQuoted))
	}
	if said := strings.Trim(string(u.File.SizeBytes), `"`); said != "" && said != strconv.FormatInt(size, 10) {
		return File{}, fmt.Errorf("the file at Gemini has %s bytes", diag.QuoteUpTo(said, maxQuoted))
	}
	return File{Name: u.File.Name, Size: size, ExpiresAt: gemini.ParseTime(u.File.ExpirationTime)}, nil
}
