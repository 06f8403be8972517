package results

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	htransport "google.golang.org/api/transport/http"

	"github.com/opledger/opledger/shared/diag"
)

// Buckets is Cloud Storage, for Do with a bucket. It is safe for concurrent use. It looks
// for credentials at its first object.
type Buckets struct {
	emulator string
	chunk    int // how much of an object is held, and sent in one request

	mu      sync.Mutex
	service *storage.Service
}

// NewBuckets returns Buckets that have not connected yet. emulator is the address of a Cloud
// Storage without credentials, host and port with or without http://. Empty: Google's.
func NewBuckets(emulator string) *Buckets { return &Buckets{emulator: emulator, chunk: chunkBytes} }

// chunkBytes is far below the client's default: a function runs many effects at once.
const chunkBytes = 4 << 20

// connect returns the client, made at the first call. If it could not be made, the next call tries
// again.
func (b *Buckets) connect(ctx context.Context) (*storage.Service, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.service != nil {
		return b.service, nil
	}
	// By default the client logs what it sends where GOOGLE_SDK_GO_LOGGING_LEVEL is debug.
	options := []option.ClientOption{
		option.WithLogger(slog.New(slog.DiscardHandler)), option.WithScopes(storage.DevstorageReadWriteScope),
	}
	if b.emulator != "" {
		address := b.emulator
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		endpoint := strings.TrimSuffix(address, "/") + "/storage/v1/"
		options = append(options, option.WithoutAuthentication(), option.WithEndpoint(endpoint))
	}
	service, err := newStorage(context.WithoutCancel(ctx), options)
	if err != nil {
		return nil, fmt.Errorf("making a Cloud Storage client: %w%s", err, diag.LogIn)
	}
	b.service = service
	return service, nil
}

// ErrNoBucket is wrapped by the error of check for a bucket that does not exist.
var ErrNoBucket = errors.New("does not exist")

// check returns why nothing can be written to a bucket as things are: there are no credentials,
// Cloud Storage cannot be reached, or the bucket does not exist. It returns nil where that cannot
// be known, as without the permission to get buckets, which writing objects does not need.
func (b *Buckets) check(ctx context.Context, bucket string) error {
	service, err := b.connect(ctx)
	if err != nil {
		return err
	}
	_, err = service.Buckets.Get(bucket).Fields("name").Context(ctx).Do()
	switch status := statusOf(err); {
	case status == http.StatusNotFound:
		return fmt.Errorf("the bucket gs://%s %w", bucket, ErrNoBucket)
	case err == nil, ctx.Err() != nil, status != 0 && status != http.StatusUnauthorized:
		return nil
	default:
		return fmt.Errorf("asking Cloud Storage for the bucket gs://%s: %w", bucket,
			new(diag.Redactor).Error(diag.WithoutURL(err)))
	}
}

// newStorage returns a client whose requests are noted for watchSent, with the credentials
// that it adds to them.
func newStorage(ctx context.Context, options []option.ClientOption) (*storage.Service, error) {
	base := http.DefaultTransport
	if transport, ok := base.(*http.Transport); ok {
		transport = transport.Clone()
		transport.MaxIdleConnsPerHost = 100 // as many as the library's own
		base = transport
	}
	transport, err := htransport.NewTransport(ctx, noteSent{Next: base}, options...)
	if err != nil {
		return nil, err
	}
	return storage.NewService(ctx, append(options, option.WithHTTPClient(&http.Client{Transport: transport}))...)
}
