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
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

const (
	// keepUpload is how long bytes are kept that no job has: since the last of them came.
	keepUpload = 24 * time.Hour
	// mostUploads is how many inputs are received at once.
	mostUploads = 4

	partSuffix   = ".part" // the bytes so far
	storedSuffix = ".json" // the input that is made of them, as a job.Input
)

var (
	// errBusy: another request uploads the same, or too many upload.
	errBusy = errors.New("another upload is under way; ask again later with HEAD, and go on from its Upload-Offset")
	// errOtherSum: the bytes that arrived have another SHA-256 than was said.
	errOtherSum = errors.New("what was uploaded has another SHA-256, and is deleted; upload it again from its beginning")
)

// uploads receive the inputs of jobs. The bytes go to a file in a folder of this process's own, where they wait
// for the rest. When all are there they are checked, and their requests become an object of job storage.
// What no job has a day later is deleted.
type uploads struct {
	folder  string
	storage storage.Storage
	ledger  *ledger.Ledger
	now     func() time.Time

	mu   sync.Mutex
	busy map[string]bool // by the name of the upload
}

// uploadsBeside returns the folder of the uploads for a ledger.
func uploadsBeside(store config.Store) string { return cmp.Or(store.SQLite, "opledger") + ".uploads" }

func newUploads(folder string, jobs storage.Storage, l *ledger.Ledger, now func() time.Time) *uploads {
	return &uploads{folder: folder, storage: jobs, ledger: l, now: now, busy: map[string]bool{}}
}

// An upload is an input on its way: that of a job, by the SHA-256 of what is sent.
type upload struct {
	*uploads
	key    operation.Key
	sha256 string
}

func (u upload) name() string { return u.key.ID() + "." + u.sha256 }

func (u upload) path(suffix string) string { return filepath.Join(u.folder, u.name()+suffix) }

// begin keeps other requests from the upload until release is called. The error is errBusy.
func (u upload) begin() (release func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.busy[u.name()] || len(u.busy) >= mostUploads {
		return nil, errBusy
	}
	u.busy[u.name()] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.busy, u.name())
	}, nil
}

// arrived returns how many bytes have arrived.
func (u upload) arrived() (int64, error) {
	info, err := os.Stat(u.path(partSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading how much of an input has arrived: %w", err)
	}
	return info.Size(), nil
}

// storedPath returns where the input is that is made of the upload: of the same bytes another keyField makes
// another one.
func (u upload) storedPath(keyField string) string {
	if keyField == "" {
		return u.path(storedSuffix)
	}
	sum := sha256.Sum256([]byte(keyField))
	return u.path("-" + hex.EncodeToString(sum[:8]) + storedSuffix)
}

// stored returns the input that was made of the upload with this keyField; false where it is not in job storage.
func (u upload) stored(ctx context.Context, keyField string) (job.Input, bool, error) {
	input, ok := readStored(u.storedPath(keyField))
	if !ok {
		return job.Input{}, false, nil
	}
	for name, err := range u.storage.Names(ctx, input.Object) {
		if err != nil {
			return job.Input{}, false, fmt.Errorf("looking for an input: %w", err)
		}
		return input, name == input.Object, nil
	}
	return job.Input{}, false, nil
}

// readStored reads what is made of an upload. A file that cannot be read counts as none: the upload is made
// once more.
func readStored(path string) (input job.Input, ok bool) {
	text, err := os.ReadFile(path)
	return input, err == nil && json.Unmarshal(text, &input) == nil && input.Object != ""
}

// receive appends content to the upload, from the byte at on. What has arrived stays, whatever the error.
func (u upload) receive(at int64, content io.Reader) error {
	if err := os.MkdirAll(u.folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of uploads: %w", err)
	}
	file, err := os.OpenFile(u.path(partSuffix), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("receiving an input: %w", err)
	}
	err = file.Truncate(at)
	if err == nil {
		_, err = file.Seek(at, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(file, content)
	}
	if err = cmp.Or(err, file.Close()); err != nil {
		return fmt.Errorf("receiving an input: %w", err)
	}
	return nil
}
