package secretsim

import (
	"time"

	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Version is one version in the simulator.
type Version struct {
	Name    string
	Enabled bool
	Data    string
}

// Put adds a version with a create time, and creates a missing secret. name is
// projects/P/secrets/S. It returns the version's full name.
func (s *Sim) Put(name, data string, at time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.secrets[named(name)]
	if kept == nil {
		kept = &secret{}
		s.secrets[named(name)] = kept
	}
	return kept.add([]byte(data), at).name(named(name))
}

// Make creates a secret without versions.
func (s *Sim) Make(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[named(name)] = &secret{}
}

// Exists reports whether the secret exists.
func (s *Sim) Exists(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets[named(name)] != nil
}

// SetDisabled disables a version, given by its full name.
func (s *Sim) SetDisabled(version string) { s.set(version, secretmanagerpb.SecretVersion_DISABLED) }

// SetEnabled enables a disabled version, given by its full name.
func (s *Sim) SetEnabled(version string) { s.set(version, secretmanagerpb.SecretVersion_ENABLED) }

// SetDestroyed destroys a version, given by its full name.
func (s *Sim) SetDestroyed(version string) { s.set(version, secretmanagerpb.SecretVersion_DESTROYED) }

func (s *Sim) set(name string, state secretmanagerpb.SecretVersion_State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(name).state = state
}

// Versions returns all versions of a secret, newest first.
func (s *Sim) Versions(name string) []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Version
	if kept := s.secrets[named(name)]; kept != nil {
		for _, v := range kept.versions {
			shown := Version{
				Name:    v.name(named(name)),
				Enabled: v.state == secretmanagerpb.SecretVersion_ENABLED,
				Data:    string(v.data),
			}
			all = append([]Version{shown}, all...)
		}
	}
	return all
}

// Calls returns how many calls of a method, such as AddSecretVersion, have arrived.
func (s *Sim) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Fail makes the next calls of a method fail without being executed; times below 0: all of them.
func (s *Sim) Fail(method string, code codes.Code, times int) {
	s.addFault(&fault{method: method, code: code, left: times})
}

// Lose makes the next calls of a method be executed and answered with UNAVAILABLE.
func (s *Sim) Lose(method string, times int) {
	s.addFault(&fault{method: method, code: codes.Unavailable, left: times, after: true})
}

// Hold makes every call of a method wait until its caller gives up.
func (s *Sim) Hold(method string) { s.addFault(&fault{method: method, left: -1, hold: true}) }

// ClearFaults removes all faults, denials and damage. What was granted stays.
func (s *Sim) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.damaged = nil, false
	clear(s.denied)
}

// Deny removes a permission, such as secretmanager.versions.list, from the caller.
func (s *Sim) Deny(permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[permission] = true
}

// Damage flips a bit in every payload that is read.
func (s *Sim) Damage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged = true
}

func (s *Sim) addFault(f *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// next counts a call and returns its fault, or nil.
func (s *Sim) next(method string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	for _, f := range s.faults {
		if f.method == method && f.left != 0 {
			f.left--
			return f
		}
	}
	return nil
}

func refused(code codes.Code, method string) error {
	return status.Error(code, method+" fails as the test says")
}
