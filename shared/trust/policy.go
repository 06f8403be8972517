package trust

import "fmt"

// A Policy says which verified deliveries are confirmed at Gemini before they are believed.
type Policy string

// The policies.
const (
	// Never confirms none: a token's body is believed, although the token does not sign it.
	Never Policy = "never"
	// Dynamic confirms those whose proof does not cover their body.
	Dynamic Policy = "dynamic"
	// Always confirms all.
	Always Policy = "always"
)

// UnmarshalText reads "never", "dynamic" or "always". The policy is empty beside an error.
func (p *Policy) UnmarshalText(text []byte) error {
	switch read := Policy(text); read {
	case Never, Dynamic, Always:
		*p = read
		return nil
	default:
		*p = ""
		return fmt.Errorf("it must be %s, %s or %s, not %q", Never, Dynamic, Always, text)
	}
}

// Unverified reports whether a delivery with this proof is confirmed at Gemini.
func (p Policy) Unverified(proof Proof) bool { return p == Always || p == Dynamic && !proof.Bound }
