package geminisim

import (
	"crypto/rsa"
	"crypto/x509"
	_ "embed" // of testkeys.pem
	"encoding/pem"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-jose/go-jose/v4"
)

// JWKSPath is where the public keys of dynamic deliveries are served, to callers without an API key
// too.
const JWKSPath = "/.well-known/jwks.json"

//go:embed testkeys.pem
var testKeys []byte

// OtherKey returns a valid RSA key that the simulator never serves, for forged tokens.
func OtherKey() *rsa.PrivateKey {
	all := parseKeys()
	return all[len(all)-1]
}

// parseKeys reads the embedded keys.
func parseKeys() []*rsa.PrivateKey {
	var all []*rsa.PrivateKey
	for block, rest := pem.Decode(testKeys); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			panic("geminisim: testkeys.pem: " + err.Error())
		}
		all = append(all, key)
	}
	return all
}

// keyring is the signing keys, guarded by Sim.mu.
type keyring struct {
	material []*rsa.PrivateKey // parsed when first needed
	served   []signingKey      // newest first
	newest   signingKey        // signs, served or not
	made     int
}

type signingKey struct {
	id  string
	key *rsa.PrivateKey
}

// addKey makes a new key. The caller must hold s.mu. The material of the embedded keys is reused
// after the third; the id, which receivers use, is always new.
func (s *Sim) addKey() {
	k := &s.keys
	if k.material == nil {
		all := parseKeys()
		k.material = all[:len(all)-1] // without OtherKey
	}
	kid := draw(s.rand("key", strconv.Itoa(k.made)), "0123456789abcdef", 40)
	k.newest = signingKey{kid, k.material[k.made%len(k.material)]}
	k.made++
	k.served = slices.Insert(k.served, 0, k.newest)
}

// signingKeys are the keys, of which there is always one. Callers hold s.mu.
func (s *Sim) signingKeys() *keyring {
	if s.keys.made == 0 {
		s.addKey()
	}
	return &s.keys
}

// find is the key of that id, or the newest.
func (k *keyring) find(id string) signingKey {
	if i := slices.IndexFunc(k.served, func(s signingKey) bool { return s.id == id }); i >= 0 {
		return k.served[i]
	}
	return k.newest
}

// RotateJWKS makes a new key, which signs from now on, and returns its id. Older keys are still
// served.
func (s *Sim) RotateJWKS() (keyID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signingKeys() // the one that is rotated
	s.addKey()
	return s.keys.newest.id
}

// RevokeJWKS stops serving a key. If it is the newest it still signs, and no receiver finds it.
func (s *Sim) RevokeJWKS(keyID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.signingKeys()
	keys.served = slices.DeleteFunc(keys.served, func(k signingKey) bool { return k.id == keyID })
}

func (s *Sim) serveJWKS(w http.ResponseWriter, _ *http.Request) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	s.mu.Lock()
	for _, k := range s.signingKeys().served {
		set.Keys = append(
			set.Keys, jose.JSONWebKey{Key: k.key.Public(), KeyID: k.id, Algorithm: string(jose.RS256), Use: "sig"},
		)
	}
	s.mu.Unlock()
	writeJSON(w, set)
}
