package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	permissionAdd = "secretmanager.versions.add"
	roleAdd       = "roles/secretmanager.secretVersionAdder (" + permissionAdd + ")"
	roleCreate    = "roles/secretmanager.secretVersionAdder on it if it is there, else roles/secretmanager.admin to make it"
	roleDisable   = "roles/secretmanager.secretVersionManager (secretmanager.versions.disable)"
)

// Add stores data as a new version, enabled at once, and returns the version's full name. The other
// versions stay as they are. Secret Manager refuses data that was damaged on the way. After an
// error that is none of the sentinels it may be stored all the same; adding it again does no harm
// beside a version too many.
func (c *Client) Add(ctx context.Context, name Name, data []byte) (string, error) {
	client, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	sum := checksum(data)
	version, err := client.AddSecretVersion(bounded, &secretmanagerpb.AddSecretVersionRequest{
		Parent: name.String(), Payload: &secretmanagerpb.SecretPayload{Data: data, DataCrc32C: &sum},
	})
	if err != nil {
		code := status.Code(err)
		err = explain(ctx, "adding a version to", name, roleAdd, err)
		if len(data) > 0 && strings.Contains(err.Error(), string(data)) { // it repeats what it was sent
			err = fmt.Errorf("adding a version to %s: Secret Manager says %s", name, code)
		}
		return "", err
	}
	return version.GetName(), nil
}

// Ensure returns nil once the secret is there and the caller may add versions to it, so that a
// value that can be had only once is not fetched before there is a place for it. A secret that is
// missing is made, replicated as Google chooses; created says so. The error wraps ErrDenied or the
// context's, or says that Secret Manager could not be asked.
func (c *Client) Ensure(ctx context.Context, name Name) (created bool, err error) {
	client, err := c.connect(ctx)
	if err != nil {
		return false, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	// Of a secret that is not there Secret Manager says that nothing is permitted.
	ask := func() (bool, error) {
		answer, err := client.TestIamPermissions(bounded, &iampb.TestIamPermissionsRequest{
			Resource: name.String(), Permissions: []string{permissionAdd},
		})
		if err != nil && status.Code(err) != codes.NotFound {
			return false, explain(ctx, "asking about", name, roleAdd, err)
		}
		return slices.Contains(answer.GetPermissions(), permissionAdd), nil
	}
	if may, err := ask(); may || err != nil {
		return false, err
	}
	_, err = client.CreateSecret(bounded, &secretmanagerpb.CreateSecretRequest{
		Parent: "projects/" + name.Project, SecretId: name.ID,
		Secret: &secretmanagerpb.Secret{Replication: &secretmanagerpb.Replication{
			Replication: &secretmanagerpb.Replication_Automatic_{Automatic: &secretmanagerpb.Replication_Automatic{}},
		}},
	})
	if status.Code(err) == codes.AlreadyExists { // there, and not writable; or made by another caller just now
		may, err := ask()
		if err == nil && !may {
			err = explain(ctx, "adding a version to", name, roleAdd, status.Error(codes.PermissionDenied, "the secret may not be written to"))
		}
		return false, err
	}
	if err != nil {
		return false, explain(ctx, "making", name, roleCreate, err)
	}
	return true, nil
}

// Disable makes a version, given by its full name, unreadable until it is enabled again. One that
// is disabled already stays so; one that is gone is an error that wraps ErrNotFound.
func (c *Client) Disable(ctx context.Context, version string) error {
	if _, number, ok := strings.Cut(version, "/versions/"); !ok || number == "" || number == "latest" {
		return errors.New("disabling a version: it must be named projects/P/secrets/S/versions/N")
	}
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	if _, err := client.DisableSecretVersion(bounded, &secretmanagerpb.DisableSecretVersionRequest{Name: version}); err != nil {
		return explain(ctx, "disabling", text(version), roleDisable, err)
	}
	return nil
}
