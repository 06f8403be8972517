package trust

import "fmt"

// A Policy says which verified deliveries are only hints, to be confirmed at Gemini.
type Policy string

// The policies.
const (
	Never   Policy = "never"   // none: also what a signature does not cover is believed
	Dynamic Policy = "dynamic" // those whose signature does not cover their body
	Always  Policy = "always"  // all
)

// ParsePolicy reads a policy.
func ParsePolicy(text string) (Policy, error) {
	switch p := Policy(text); p {
	case Never, Dynamic, Always:
		return p, nil
	default:
		return "", fmt.Errorf("it must be %s, %s or %s, not %q", Never, Dynamic, Always, text)
	}
}

// Hint reports whether a delivery of this proof is only a hint.
func (p Policy) Hint(proof Proof) bool { return p == Always || p == Dynamic && !proof.Bound }
