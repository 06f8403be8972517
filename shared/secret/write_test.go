package secret_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// TestAdd: a new version does not change the others, and a failed call is not retried.
func TestAdd(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	_, err := client.Add(t.Context(), name, []byte(private))
	wantError(t, err, secret.ErrNotFound, full)
	sim.Put(full, "old", noon)
	version, err := client.Add(t.Context(), name, []byte(private))
	if err != nil {
		t.Fatal(err)
	}
	want := []secretsim.Version{
		{Name: version, Enabled: true, Data: private},
		{Name: sim.Versions(full)[1].Name, Enabled: true, Data: "old"},
	}
	if diff := cmp.Diff(want, sim.Versions(full)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	before := sim.Calls("AddSecretVersion")
	sim.Fail("AddSecretVersion", codes.Unavailable, 1)
	_, err = client.Add(t.Context(), name, []byte(private))
	wantError(t, err, nil, "Unavailable", "try again")
	if n := sim.Calls("AddSecretVersion") - before; n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	sim.Deny("secretmanager.versions.add")
	_, err = client.Add(t.Context(), name, []byte(private))
	wantError(t, err, secret.ErrDenied, "roles/secretmanager.secretVersionAdder")
}

// TestAddTellsNoSecret: not even where the server repeats it.
func TestAddTellsNoSecret(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	sim.Make(full)
	sim.Fail("AddSecretVersion", codes.InvalidArgument, 1)
	const repeated = "fails as the test says"
	_, err := client.Add(t.Context(), name, []byte(repeated))
	if err == nil || strings.Contains(err.Error(), repeated) || !strings.Contains(err.Error(), "InvalidArgument") {
		t.Errorf("%v", err)
	}
}

// TestEnsure: afterwards the secret exists and is writable, or the error names the missing role.
func TestEnsure(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	if made, err := client.Ensure(t.Context(), name); err != nil || !made || !sim.Exists(full) {
		t.Errorf("%v, %v", made, err)
	}
	if made, err := client.Ensure(t.Context(), name); err != nil || made {
		t.Errorf("the second time: %v, %v", made, err)
	}
	sim.Deny("secretmanager.versions.add")
	_, err := client.Ensure(t.Context(), name)
	wantError(t, err, secret.ErrDenied, full, "roles/secretmanager.secretVersionAdder")
	other := secret.Name{Project: "p", ID: "other"}
	sim.ClearFaults()
	sim.Deny("secretmanager.secrets.create")
	_, err = client.Ensure(t.Context(), other)
	wantError(t, err, secret.ErrDenied, other.String(), "roles/secretmanager.admin")
	if sim.Exists(other.String()) {
		t.Error("it was made all the same")
	}
	sim.Fail("TestIamPermissions", codes.Internal, 1)
	_, err = client.Ensure(t.Context(), name)
	wantError(t, err, nil, "Internal")
}

func TestDisable(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	version := sim.Put(full, private, noon)
	for range 2 {
		if err := client.Disable(t.Context(), version); err != nil || sim.Versions(full)[0].Enabled {
			t.Errorf("%v, %+v", err, sim.Versions(full))
		}
	}
	wantError(t, client.Disable(t.Context(), full+"/versions/9"), secret.ErrNotFound)
	sim.Deny("secretmanager.versions.disable")
	wantError(t, client.Disable(t.Context(), version), secret.ErrDenied, "roles/secretmanager.secretVersionManager")
	before := sim.Calls("DisableSecretVersion")
	for _, bad := range []string{"", full, full + "/versions/", full + "/versions/latest"} {
		wantError(t, client.Disable(t.Context(), bad), nil, "versions/N")
	}
	if sim.Calls("DisableSecretVersion") != before {
		t.Error("a name that is no version's was sent")
	}
}
