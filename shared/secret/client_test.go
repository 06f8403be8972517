package secret_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

const (
	full    = "projects/p/secrets/webhook"
	private = "whsec_the-one-that-nobody-may-see"
)

var (
	name = secret.Name{Project: "p", ID: "webhook"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// start returns a simulator and a client for it; a call ends after the timeout.
func start(t *testing.T, config secretsim.Config, timeout time.Duration) (*secretsim.Sim, *secret.Client) {
	t.Helper()
	sim, err := secretsim.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	client := secret.New(secret.Options{Emulator: sim.Addr(), Timeout: timeout})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		sim.Close()
	})
	return sim, client
}

// wantError checks what an error is and says, and that it tells no secret.
func wantError(t *testing.T, err, is error, says ...string) {
	t.Helper()
	if err == nil || is != nil && !errors.Is(err, is) {
		t.Fatalf("%v, want %v", err, is)
	}
	for _, words := range says {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
	if strings.Contains(err.Error(), private) {
		t.Errorf("the secret is in %q", err)
	}
}

// TestEnabled: every enabled version counts, newest first, over as many pages as there are; no other does [G3].
func TestEnabled(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{PageSize: 2}, time.Minute)
	var versions []string
	for i := range 7 {
		versions = append(versions, sim.Put(full, fmt.Sprintf("v%d\n", i+1), noon.Add(time.Duration(i)*time.Hour)))
	}
	sim.SetDisabled(versions[6])
	sim.SetDestroyed(versions[2])
	got, err := client.Enabled(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	var want []secret.Version
	for _, i := range []int{5, 4, 3, 1, 0} {
		want = append(want, secret.Version{
			Name: versions[i], CreateTime: noon.Add(time.Duration(i) * time.Hour), Data: fmt.Appendf(nil, "v%d\n", i+1),
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := sim.Calls("ListSecretVersions"); n != 4 {
		t.Errorf("%d pages were asked for, want 4", n)
	}
	if n := sim.Calls("AccessSecretVersion"); n != 5 {
		t.Errorf("%d versions were read, want 5", n)
	}
}

func TestEnabledFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		set   func(*secretsim.Sim)
		is    error
		says  []string
	}{
		{"no secret", func(*secretsim.Sim) {}, secret.ErrNotFound, []string{full, "gcloud secrets create"}},
		{"no version", func(s *secretsim.Sim) { s.Make(full) }, secret.ErrNone, []string{full, "gcloud secrets versions add"}},
		{"all disabled", func(s *secretsim.Sim) { s.SetDisabled(s.Put(full, private, noon)) }, secret.ErrNone, []string{full}},
		{"may not list", func(s *secretsim.Sim) {
			s.Put(full, private, noon)
			s.Deny("secretmanager.versions.list")
		}, secret.ErrDenied, []string{full, "roles/secretmanager.viewer", "secretmanager.versions.list"}},
		{"may not read", func(s *secretsim.Sim) {
			s.Put(full, private, noon)
			s.Deny("secretmanager.versions.access")
		}, secret.ErrDenied, []string{"/secrets/webhook/versions/1", "roles/secretmanager.secretAccessor"}},
		{"unauthenticated", func(s *secretsim.Sim) { s.Fail("ListSecretVersions", codes.Unauthenticated, 1) }, secret.ErrDenied, nil},
		{"damaged", func(s *secretsim.Sim) {
			s.Put(full, private, noon)
			s.Damage()
		}, secret.ErrCorrupt, []string{"try again"}},
		{"internal", func(s *secretsim.Sim) { s.Fail("ListSecretVersions", codes.Internal, 1) }, nil, []string{"Internal", "try again"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			sim, client := start(t, secretsim.Config{}, time.Minute)
			c.set(sim)
			versions, err := client.Enabled(t.Context(), name)
			wantError(t, err, c.is, c.says...)
			if versions != nil {
				t.Errorf("versions %v beside an error", versions)
			}
		})
	}
}

// TestReadingIsRepeated: a Secret Manager that is away for a moment is asked again, one that stays away only for so long.
func TestReadingIsRepeated(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	sim.Put(full, private, noon)
	sim.Fail("ListSecretVersions", codes.Unavailable, 1)
	sim.Fail("AccessSecretVersion", codes.ResourceExhausted, 1)
	if got, err := client.Enabled(t.Context(), name); err != nil || len(got) != 1 || string(got[0].Data) != private {
		t.Errorf("%v, %v", got, err)
	}

	for method, fault := range map[string]func(*secretsim.Sim){
		"unavailable": func(s *secretsim.Sim) { s.Fail("AccessSecretVersion", codes.Unavailable, -1) },
		"slow":        func(s *secretsim.Sim) { s.Hold("AccessSecretVersion") },
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			sim, client := start(t, secretsim.Config{}, 300*time.Millisecond)
			sim.Put(full, private, noon)
			fault(sim)
			_, err := client.Enabled(t.Context(), name)
			wantError(t, err, nil, "try again")
		})
	}
}

// TestVersionDisabledMeanwhile: a version that is disabled between listing and reading is none of the enabled ones, and no
// failure.
func TestVersionDisabledMeanwhile(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	sim.Put(full, "old", noon)
	sim.Put(full, "new", noon.Add(time.Hour))
	sim.Fail("AccessSecretVersion", codes.FailedPrecondition, 1)
	got, err := client.Enabled(t.Context(), name)
	if err != nil || len(got) != 1 || string(got[0].Data) != "old" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNewest: the newest enabled version, and no right to list while that is the last one.
func TestNewest(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	_, err := client.Newest(t.Context(), name)
	wantError(t, err, secret.ErrNotFound, full)
	sim.Put(full, "one", noon)
	two := sim.Put(full, "two", noon.Add(time.Hour))
	sim.Deny("secretmanager.versions.list")
	if data, err := client.Newest(t.Context(), name); err != nil || string(data) != "two" {
		t.Errorf("%q, %v", data, err)
	}
	sim.SetDisabled(two)
	_, err = client.Newest(t.Context(), name)
	wantError(t, err, secret.ErrDenied, "secretmanager.versions.list")
	sim.Mend()
	if data, err := client.Newest(t.Context(), name); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
	sim.Deny("secretmanager.versions.access")
	_, err = client.Newest(t.Context(), name)
	wantError(t, err, secret.ErrDenied, "secretAccessor")
}

// TestStored: whether there is an enabled version is known without reading it.
func TestStored(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	sim.Deny("secretmanager.versions.access")
	want := func(want bool) {
		t.Helper()
		if got, err := client.Stored(t.Context(), name); got != want || err != nil {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	want(false)
	sim.Make(full)
	want(false)
	version := sim.Put(full, private, noon)
	want(true)
	sim.SetDisabled(version)
	want(false)
	sim.Deny("secretmanager.versions.list")
	_, err := client.Stored(t.Context(), name)
	wantError(t, err, secret.ErrDenied, "secretmanager.versions.list")
}

// TestAdd: a version more, and those before it stay; what fails is not repeated here.
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
	want := []secretsim.Version{{Name: version, Enabled: true, Data: private}, {Name: sim.Versions(full)[1].Name, Enabled: true, Data: "old"}}
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

// TestEnsure: afterwards the secret is there and may be written to, or it is said who must grant what.
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
	sim.Mend()
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

// TestLazyAndClosed: nothing is connected before the first call, the caller's end is the caller's, and after Close nothing works.
func TestLazyAndClosed(t *testing.T) {
	t.Parallel()
	unused := secret.New(secret.Options{Emulator: "127.0.0.1:1"})
	if err := unused.Close(); err != nil {
		t.Error(err)
	}
	if _, err := unused.Enabled(t.Context(), name); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
	_, client := start(t, secretsim.Config{}, time.Minute)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.Enabled(ended, name)
	wantError(t, err, context.Canceled)
}

// TestEnvironment: SECRET_MANAGER_EMULATOR_HOST is honoured, so that whole processes can be tested, and what was
// read is printed without its data. Not parallel, because it sets a variable.
func TestEnvironment(t *testing.T) {
	sim, _ := start(t, secretsim.Config{}, time.Minute)
	sim.Put(full, private, noon)
	t.Setenv("SECRET_MANAGER_EMULATOR_HOST", sim.Addr())
	client := secret.New(secret.Options{})
	got, err := client.Enabled(t.Context(), name)
	if err := errors.Join(err, client.Close()); err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if printed := fmt.Sprintf("%v %+v %#v %s %v", got, got[0], got[0], got[0], client); strings.Contains(printed, private) {
		t.Errorf("printed %s", printed)
	}
}

// TestDebuggingTellsNoSecret: Google's client logs whole requests where its logging level says so; ours does not let it. The
// program runs once more, with that level, because the client reads it when it is made.
func TestDebuggingTellsNoSecret(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^(TestAdd|TestNewest)$", "-test.v")
	cmd.Env = append(os.Environ(), "GOOGLE_SDK_GO_LOGGING_LEVEL=debug")
	printed, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "--- PASS: TestAdd") || strings.Contains(string(printed), "api request") {
		t.Errorf("%v: %s", err, printed)
	}
}
