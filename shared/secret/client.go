package secret

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"os"
	"time"

	secretmanager "cloud.google.com/go/secretmanager/apiv1"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/lazy"
)

const (
	// defaultTimeout bounds a call with its retries.
	defaultTimeout = 10 * time.Second
	firstBackOff   = 200 * time.Millisecond
	maxBackOff     = 2 * time.Second
)

// Options says how to reach Secret Manager. The zero value reaches Google's, with the process's
// credentials.
type Options struct {
	// Emulator is the host and port of an emulator, used in plain text and without credentials.
	// Empty: SECRET_MANAGER_EMULATOR_HOST, else Google's service.
	Emulator string
	// Timeout bounds one call with its retries. Zero: 10 s.
	Timeout time.Duration
}

// A Client reads and writes secrets. It is safe for concurrent use. It connects on the first call
// and must be closed.
type Client struct {
	options Options

	client lazy.Value[*secretmanager.Client]
}

var errClosed = errors.New("the Secret Manager client is closed")

// New returns a client. It does not connect.
func New(o Options) *Client {
	o.Emulator = cmp.Or(o.Emulator, os.Getenv("SECRET_MANAGER_EMULATOR_HOST"))
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	return &Client{options: o}
}

// Close closes the connection, if there is one. Later calls fail.
func (c *Client) Close() error {
	if err := c.client.Close(errClosed, (*secretmanager.Client).Close); err != nil {
		return fmt.Errorf("closing the Secret Manager client: %w", err)
	}
	return nil
}

func (c *Client) dial(ctx context.Context) (*secretmanager.Client, error) {
	// By default the client logs payloads if GOOGLE_SDK_GO_LOGGING_LEVEL is debug.
	options := []option.ClientOption{option.WithLogger(slog.New(slog.DiscardHandler))}
	if c.options.Emulator != "" {
		conn, err := grpc.NewClient(
			"passthrough:///"+c.options.Emulator, grpc.WithTransportCredentials(insecure.NewCredentials()),
		)
		if err != nil {
			return nil, fmt.Errorf("SECRET_MANAGER_EMULATOR_HOST: %w", err)
		}
		options = append(options, option.WithGRPCConn(conn))
	}
	client, err := secretmanager.NewClient(context.WithoutCancel(ctx), options...)
	if err != nil {
		return nil, fmt.Errorf("connecting to Secret Manager: %w%s", err, diag.LogIn)
	}
	// Only reads are retried. The caller decides about writes.
	again := []gax.CallOption{gax.WithRetry(func() gax.Retryer {
		return gax.OnCodes([]codes.Code{codes.Unavailable, codes.ResourceExhausted},
			gax.Backoff{Initial: firstBackOff, Max: maxBackOff, Multiplier: 2})
	})}
	client.CallOptions.AccessSecretVersion = again
	client.CallOptions.ListSecretVersions = again
	client.CallOptions.TestIamPermissions = again
	return client, nil
}

// String shows nothing that c has read.
func (c *Client) String() string { return "secret.Client" }
