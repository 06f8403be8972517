package secret_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// TestEnabled: every enabled version is returned, newest first, from all pages; no other is [G3].
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
		{
			"no version", func(s *secretsim.Sim) { s.Make(full) }, secret.ErrNone, []string{full, "gcloud secrets versions add"},
		},
		{
			"all disabled", func(s *secretsim.Sim) { s.SetDisabled(s.Put(full, private, noon)) }, secret.ErrNone, []string{full},
		},
		{"may not list", func(s *secretsim.Sim) {
			s.Put(full, private, noon)
			s.Deny("secretmanager.versions.list")
		}, secret.ErrDenied, []string{full, "roles/secretmanager.viewer", "secretmanager.versions.list"}},
		{"may not read", func(s *secretsim.Sim) {
			s.Put(full, private, noon)
			s.Deny("secretmanager.versions.access")
		}, secret.ErrDenied, []string{"/secrets/webhook/versions/1", "roles/secretmanager.secretAccessor"}},
		{
			"unauthenticated", func(s *secretsim.Sim) { s.Fail("ListSecretVersions", codes.Unauthenticated, 1) },
			secret.ErrDenied, nil,
		},
		{"damaged", func(s *secretsim.Sim) {
			s.Put(full, private, noon)
			s.Damage()
		}, secret.ErrCorrupt, []string{"try again"}},
		{
			"internal", func(s *secretsim.Sim) { s.Fail("ListSecretVersions", codes.Internal, 1) }, nil,
			[]string{"Internal", "try again"},
		},
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

// TestReadingIsRepeated: a read is retried while Secret Manager is unavailable, until the timeout.
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

// TestVersionDisabledMeanwhile: a version that is disabled between listing and reading is none of
// the enabled ones, and no failure.
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

// TestLatest: the last version is read with the role that reads and cannot list. Where it is not
// enabled the error says so, and no version before it is taken.
func TestLatest(t *testing.T) {
	t.Parallel()
	sim, client := start(t, secretsim.Config{}, time.Minute)
	if err := sim.Grant(map[string][]string{"webhook": {"roles/secretmanager.secretAccessor"}}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Latest(t.Context(), name)
	wantError(t, err, secret.ErrNotFound, full)
	sim.Put(full, "one", noon)
	two := sim.Put(full, "two", noon.Add(time.Hour))
	if data, err := client.Latest(t.Context(), name); err != nil || string(data) != "two" {
		t.Errorf("%q, %v", data, err)
	}
	for _, change := range []func(string){sim.SetDisabled, sim.SetDestroyed} {
		change(two)
		data, err := client.Latest(t.Context(), name)
		wantError(t, err, secret.ErrNotEnabled, full, "enable it")
		if data != nil {
			t.Errorf("%q beside an error", data)
		}
	}
	sim.Put(full, "one", noon.Add(2*time.Hour))
	if data, err := client.Latest(t.Context(), name); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
	if n := sim.Calls("ListSecretVersions"); n != 0 {
		t.Errorf("versions were listed %d times", n)
	}
	sim.Deny("secretmanager.versions.access")
	_, err = client.Latest(t.Context(), name)
	wantError(t, err, secret.ErrDenied, "secretAccessor")
}

// TestStored: an enabled version is found without reading it.
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
