package secretsim

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// permissions are what Google's roles below roles/secretmanager. allow, of the permissions below
// secretmanager. that the simulator checks.
func permissions() map[string][]string {
	return map[string][]string{
		"admin": {
			"secrets.create", "versions.access", "versions.add", "versions.disable", "versions.list",
		},
		"secretAccessor":       {"versions.access"},
		"secretVersionAdder":   {"versions.add"},
		"secretVersionManager": {"versions.add", "versions.disable", "versions.list"},
		"viewer":               {"versions.list"},
	}
}

// Grant replaces what the caller may do, which is everything before the first Grant. roles are the
// full names of roles by the id of the secret that they are granted on; those under "" are granted
// on the project. The error names a role that the simulator does not know, and then nothing is
// changed.
func (s *Sim) Grant(roles map[string][]string) error {
	granted := map[string]map[string]bool{}
	for secret, names := range roles {
		granted[secret] = map[string]bool{}
		for _, name := range names {
			allowed, ok := rolePermissions(name)
			if !ok {
				return fmt.Errorf("granting on %q: the simulator does not know the role %s", secret, name)
			}
			for _, permission := range allowed {
				granted[secret][permission] = true
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted = granted
	return nil
}

func rolePermissions(role string) ([]string, bool) {
	name, ours := strings.CutPrefix(role, "roles/secretmanager.")
	short, known := permissions()[name]
	full := slices.Clone(short)
	for i := range full {
		full[i] = "secretmanager." + full[i]
	}
	return full, ours && known
}

// may returns the error for a caller without the permission. It is called before any look-up, so
// that the answer does not show what exists.
func (s *Sim) may(permission, resource string) error {
	allowed := s.granted == nil || s.granted[""][permission] || s.granted[named(resource)][permission]
	if !allowed || s.denied[permission] {
		return status.Errorf(
			codes.PermissionDenied, "Permission '%s' denied for resource '%s' (or it may not exist).", permission, resource,
		)
	}
	return nil
}
