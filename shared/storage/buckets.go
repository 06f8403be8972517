package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	gcs "google.golang.org/api/storage/v1"
	htransport "google.golang.org/api/transport/http"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/lazy"
)

// Buckets is Cloud Storage. It is safe for concurrent use. It looks for credentials at its first
// object.
type Buckets struct {
	// ChunkBytes is how much of an object is held, and sent in one request: a multiple of 256 KiB.
	ChunkBytes int

	emulator string
	service  lazy.Value[*gcs.Service]
}

// NewBuckets returns Buckets that have not connected yet. emulator is the address of a Cloud
// Storage without credentials, host and port with or without http://. Empty: Google's.
func NewBuckets(emulator string) *Buckets {
	return &Buckets{emulator: emulator, ChunkBytes: chunkBytes}
}

// chunkBytes is far below the client's default: a function runs many effects at once.
const chunkBytes = 4 << 20

func (b *Buckets) dial(ctx context.Context) (*gcs.Service, error) {
	// By default the client logs what it sends where GOOGLE_SDK_GO_LOGGING_LEVEL is debug.
	options := []option.ClientOption{
		option.WithLogger(slog.New(slog.DiscardHandler)), option.WithScopes(gcs.DevstorageReadWriteScope),
	}
	if b.emulator != "" {
		address := b.emulator
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		endpoint := strings.TrimSuffix(address, "/") + "/storage/v1/"
		options = append(options, option.WithoutAuthentication(), option.WithEndpoint(endpoint))
	}
	service, err := newService(context.WithoutCancel(ctx), options)
	if err != nil {
		return nil, fmt.Errorf("making a Cloud Storage client: %w%s", err, diag.LogIn)
	}
	return service, nil
}

// newService returns a client whose requests are noted for watchSent, with the credentials
// that it adds to them.
func newService(ctx context.Context, options []option.ClientOption) (*gcs.Service, error) {
	base := http.DefaultTransport
	if transport, ok := base.(*http.Transport); ok {
		transport = transport.Clone()
		transport.MaxIdleConnsPerHost = 100 // as many as the library's own
		transport.DisableCompression = true // a compressed answer does not say how long its content is
		base = transport
	}
	transport, err := htransport.NewTransport(ctx, noteSent{Next: base}, options...)
	if err != nil {
		return nil, err
	}
	return gcs.NewService(ctx, append(options, option.WithHTTPClient(&http.Client{Transport: transport}))...)
}

// ask returns what a call of the client returns. The error says what was attempted, and is an
// AnswerError where Cloud Storage has answered.
func ask[T any](ctx context.Context, b *Buckets, doing string,
	call func(context.Context, *gcs.Service) (T, error)) (T, error) {
	var none T
	service, err := b.service.Get(ctx, b.dial)
	if err != nil {
		return none, err
	}
	ctx, sent := watchSent(ctx)
	answer, err := call(ctx, service)
	if err != nil {
		return none, sent.failed(doing, err)
	}
	return answer, nil
}

// ErrNoBucket is wrapped by the error of Check for a bucket that does not exist.
var ErrNoBucket = errors.New("does not exist")

// Check returns why nothing can be written to a bucket as things are: there are no credentials,
// Cloud Storage cannot be reached, or the bucket does not exist (ErrNoBucket). It returns nil where
// that cannot be known, as without the permission to get buckets, which writing objects does not need.
func (b *Buckets) Check(ctx context.Context, bucket string) error {
	service, err := b.service.Get(ctx, b.dial)
	if err != nil {
		return err
	}
	_, err = service.Buckets.Get(bucket).Fields("name").Context(ctx).Do()
	switch status := StatusOf(err); {
	case status == http.StatusNotFound:
		return fmt.Errorf("the bucket gs://%s %w", bucket, ErrNoBucket)
	case err == nil, ctx.Err() != nil, status != 0 && status != http.StatusUnauthorized:
		return nil
	default:
		return fmt.Errorf("asking Cloud Storage for the bucket gs://%s: %w", bucket,
			new(diag.Redactor).Error(diag.WithoutURL(err)))
	}
}

// Insert creates an object of all of content, and replaces none: an AnswerError of 412, or of 403 where
// the caller may not delete, says that one has the name. Cloud Storage compares the checksum. Insert
// returns generation, size and checksum. After an error there may be an object: an answer can be lost.
func (b *Buckets) Insert(ctx context.Context, bucket string, object *gcs.Object,
	content io.Reader) (*gcs.Object, error) {
	return ask(ctx, b, "writing "+Location{Bucket: bucket}.URL(object.Name),
		func(ctx context.Context, service *gcs.Service) (*gcs.Object, error) {
			// A ChunkTransferTimeout would also end the reading of the answer.
			return service.Objects.Insert(bucket, object).IfGenerationMatch(0).
				Media(content, googleapi.ContentType(object.ContentType), googleapi.ChunkSize(b.ChunkBytes),
					googleapi.EnableAutoChecksum()).
				Fields("generation", "size", "crc32c").Context(ctx).Do()
		})
}

// Get returns generation, size, checksum and metadata of an object. An AnswerError of 404: there is none.
func (b *Buckets) Get(ctx context.Context, bucket, name string) (*gcs.Object, error) {
	return ask(ctx, b, "reading "+Location{Bucket: bucket}.URL(name),
		func(ctx context.Context, service *gcs.Service) (*gcs.Object, error) {
			return service.Objects.Get(bucket, name).Fields("generation", "size", "crc32c", "metadata").Context(ctx).Do()
		})
}
