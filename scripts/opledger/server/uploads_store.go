package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// store checks what has arrived, and makes the input of it. The errors errOtherSum and *job.InputProblems are
// of the bytes, which are deleted then. After any other error the same call may be made again.
func (u upload) store(ctx context.Context, keyField string) (job.Input, error) {
	sum := sha256.New()
	summary, err := u.canonicalize(ctx, io.Discard, sum, keyField)
	if hex.EncodeToString(sum.Sum(nil)) != u.sha256 && ctx.Err() == nil && !errors.As(err, new(*fs.PathError)) {
		err = errOtherSum
	}
	if problems := (*job.InputProblems)(nil); errors.As(err, &problems) || errors.Is(err, errOtherSum) {
		return job.Input{}, cmp.Or(os.Remove(u.path(partSuffix)), err)
	}
	if err != nil {
		return job.Input{}, err
	}
	input := summary.Input
	input.Object = files.Input(u.key, input.SHA256)
	// Before the object is there: else it would never expire after a crash between the two.
	text, err := json.Marshal(input)
	if err == nil {
		err = os.WriteFile(u.storedPath(keyField), text, 0o600)
	}
	if err != nil {
		return job.Input{}, fmt.Errorf("recording an input: %w", err)
	}
	if err := u.create(ctx, input, keyField); err != nil {
		return job.Input{}, err
	}
	if err := os.Remove(u.path(partSuffix)); err != nil {
		return job.Input{}, fmt.Errorf("deleting the bytes of an input that is stored: %w", err)
	}
	return input, nil
}

// create creates the object of the input: of the upload as it is, where that is canonical.
func (u upload) create(ctx context.Context, input job.Input, keyField string) error {
	var content io.ReadCloser
	var err error
	ended := make(chan struct{})
	if input.SHA256 == u.sha256 {
		close(ended)
		if content, err = os.Open(u.path(partSuffix)); err != nil {
			return fmt.Errorf("reading an input: %w", err)
		}
	} else {
		read, write := io.Pipe()
		content = read
		go func() {
			defer close(ended)
			_, err := u.canonicalize(ctx, write, io.Discard, keyField)
			write.CloseWithError(err)
		}()
	}
	_, err = u.storage.Create(ctx, input.Object, content)
	_ = content.Close() // it was only read; it ends the writer, too
	<-ended
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return fmt.Errorf("storing an input: %w", err)
	}
	return nil
}

// canonicalize writes the requests of the upload to w, and its bytes to sum.
func (u upload) canonicalize(ctx context.Context, w, sum io.Writer, keyField string) (job.Summary, error) {
	file, err := os.Open(u.path(partSuffix))
	if err != nil {
		return job.Summary{}, fmt.Errorf("reading an input: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	from := io.TeeReader(until{ctx, file}, sum)
	input := maps.All(map[string]io.Reader{"input": from})
	summary, err := job.Canonicalize(w, input, job.CanonicalOptions{KeyField: keyField})
	if errors.As(err, new(*job.InputProblems)) { // perhaps one behind which nothing is read
		_, rest := io.Copy(io.Discard, from)
		err = cmp.Or(rest, err)
	}
	return summary, err //nolint:wrapcheck // it says what was read, or written
}

// until is a reader that ends with a context.
type until struct {
	ctx context.Context //nolint:containedctx // of the reader
	io.Reader
}

// Read implements io.Reader.
func (r until) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p) //nolint:wrapcheck // io.EOF must stay io.EOF
}
