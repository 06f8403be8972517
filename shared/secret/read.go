package secret

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	secretmanager "cloud.google.com/go/secretmanager/apiv1"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Version is one version of a secret. However it is printed, its data is not.
type Version struct {
	// Name is the version's full name, projects/NUMBER/secrets/S/versions/N: Secret Manager writes
	// the project's number.
	Name string
	// CreateTime is when it was stored.
	CreateTime time.Time
	// Data is the secret as it was stored, including any line end.
	Data []byte
}

// String returns the version's name.
func (v Version) String() string { return v.Name }

// GoString is String, for %#v.
func (v Version) GoString() string { return v.Name }

const (
	roleList   = "roles/secretmanager.viewer (secretmanager.versions.list)"
	roleAccess = "roles/secretmanager.secretAccessor (secretmanager.versions.access)"
)

// Enabled returns every enabled version, newest first. It fails if one of them cannot be read,
// because deliveries that only this one verifies would be refused. The error wraps ErrNone,
// ErrNotFound, ErrDenied, ErrCorrupt or the context's; any other may be transient.
func (c *Client) Enabled(ctx context.Context, name Name) ([]Version, error) {
	client, err := c.client.Get(ctx, c.dial)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	listed, err := list(bounded, client, name)
	if err != nil {
		return nil, explain(ctx, "listing the versions of", name, roleList, err)
	}
	var enabled []Version
	for _, version := range listed {
		v, err := access(bounded, client, version.Name)
		if status.Code(err) == codes.FailedPrecondition {
			continue // disabled since it was listed
		}
		if err != nil {
			return nil, explainAccess(ctx, version.Name, err)
		}
		v.CreateTime = version.CreateTime
		enabled = append(enabled, v)
	}
	if len(enabled) == 0 {
		return nil, fmt.Errorf("secret %s %w; add one with gcloud secrets versions add", name, ErrNone)
	}
	return enabled, nil
}

// Latest returns the data of the secret's last version, which Secret Manager calls latest. It does
// not look behind one that is not enabled, because the role that reads a secret cannot list its
// versions. The error then wraps ErrNotEnabled; for the others see Enabled.
func (c *Client) Latest(ctx context.Context, name Name) ([]byte, error) {
	client, err := c.client.Get(ctx, c.dial)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	v, err := access(bounded, client, name.String()+"/versions/latest")
	if status.Code(err) == codes.FailedPrecondition {
		return nil, fmt.Errorf("reading %s: its newest version %w; enable it, or add a new version",
			name, ErrNotEnabled)
	}
	if err != nil {
		return nil, explainAccess(ctx, name, err)
	}
	return v.Data, nil
}

// Stored reports whether the secret has an enabled version, without reading it. It is false for a
// secret that does not exist. The error wraps ErrDenied or the context's; any other may be
// transient.
func (c *Client) Stored(ctx context.Context, name Name) (bool, error) {
	client, err := c.client.Get(ctx, c.dial)
	if err != nil {
		return false, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	listed, err := list(bounded, client, name)
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	if err != nil {
		return false, explain(ctx, "listing the versions of", name, roleList, err)
	}
	return len(listed) > 0, nil
}

// list returns the enabled versions, newest first, without Data.
func list(ctx context.Context, client *secretmanager.Client, name Name) ([]Version, error) {
	var listed []Version
	versions := client.ListSecretVersions(ctx, &secretmanagerpb.ListSecretVersionsRequest{Parent: name.String()})
	for version, err := range versions.All() {
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller explains it
		}
		if version.GetState() == secretmanagerpb.SecretVersion_ENABLED {
			listed = append(listed, Version{Name: version.GetName(), CreateTime: version.GetCreateTime().AsTime()})
		}
	}
	slices.SortStableFunc(listed, func(a, b Version) int { return b.CreateTime.Compare(a.CreateTime) })
	return listed, nil
}

// access reads a version's data and checks it.
func access(ctx context.Context, client *secretmanager.Client, version string) (Version, error) {
	answer, err := client.AccessSecretVersion(ctx, &secretmanagerpb.AccessSecretVersionRequest{Name: version})
	if err != nil {
		return Version{}, err //nolint:wrapcheck // the caller explains it
	}
	payload := answer.GetPayload()
	if payload.DataCrc32C != nil && payload.GetDataCrc32C() != checksum(payload.GetData()) {
		return Version{}, ErrCorrupt
	}
	return Version{Name: answer.GetName(), Data: payload.GetData()}, nil
}

func explainAccess(ctx context.Context, what any, err error) error {
	if errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("reading %s: it %w; try again", what, err)
	}
	return explain(ctx, "reading", what, roleAccess, err)
}

// checksum returns CRC32C in the type that Secret Manager uses.
func checksum(data []byte) int64 {
	return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}
