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
	roleCreate    = "roles/secretmanager.secretVersionAdder on it if it is there, " +
		"else roles/secretmanager.admin to make it"
	roleDisable = "roles/secretmanager.secretVersionManager (secretmanager.versions.disable)"
)

// Add stores data as a new, enabled version and returns the version's full name. The other versions
// do not change. A checksum protects data on the way. After an error that wraps no sentinel the
// data may be stored; a retry then adds a second version, which is harmless.
func (c *Client) Add(ctx context.Context, name Name, data []byte) (string, error) {
	client, err := c.client.Get(ctx, c.dial)
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
		if len(data) > 0 && strings.Contains(err.Error(), string(data)) { // it quotes the request
			err = fmt.Errorf("adding a version to %s: Secret Manager says %s", name, code)
		}
		return "", err
	}
	return version.GetName(), nil
}

// Ensure makes sure that the secret exists and that the caller may add versions to it. Call it
// before fetching a value that is returned only once. Ensure creates a missing secret, with
// automatic replication, and then reports true. The error wraps ErrDenied or the context's; any
// other may be transient.
func (c *Client) Ensure(ctx context.Context, name Name) (created bool, err error) {
	client, err := c.client.Get(ctx, c.dial)
	if err != nil {
		return false, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	// For a secret that does not exist Secret Manager grants no permission.
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
	if status.Code(err) == codes.AlreadyExists { // it exists but is not writable, or was created at the same time
		may, err := ask()
		if err == nil && !may {
			err = explain(
				ctx, "adding a version to", name, roleAdd, status.Error(codes.PermissionDenied, "the secret may not be written to"),
			)
		}
		return false, err
	}
	if err != nil {
		return false, explain(ctx, "making", name, roleCreate, err)
	}
	return true, nil
}

// Disable makes a version, given by its full name, unreadable until it is enabled again. A disabled
// version stays so. The error wraps ErrNotFound for a version that does not exist.
func (c *Client) Disable(ctx context.Context, version string) error {
	if _, number, ok := strings.Cut(version, "/versions/"); !ok || number == "" || number == "latest" {
		return errors.New("disabling a version: it must be named projects/P/secrets/S/versions/N")
	}
	client, err := c.client.Get(ctx, c.dial)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	if _, err := client.DisableSecretVersion(bounded,
		&secretmanagerpb.DisableSecretVersionRequest{Name: version}); err != nil {
		return explain(ctx, "disabling", version, roleDisable, err)
	}
	return nil
}
