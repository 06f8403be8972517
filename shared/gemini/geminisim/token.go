package geminisim

import (
	"encoding/base64"
	"maps"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// tokenLife is a guess, because the life of a token is undocumented.
const tokenLife = time.Hour

const defaultIssuer = "https://accounts.google.com"

// TokenOptions say how a token is signed. The zero value signs as Gemini does: RS256 with the
// newest key and its id.
type TokenOptions struct {
	// KeyID is the kid of the header. Empty means the newest one, "-" none.
	KeyID string
	// Key signs: an *rsa.PrivateKey, or bytes for the HMAC algorithms. Nil means the key of that
	// id, or the newest where no key has it.
	Key any
	// Alg is empty for RS256, or "none" for a token without a signature.
	Alg jose.SignatureAlgorithm
}

// Claims returns the claims of the token that signs a delivery of this body to that uri now, for a
// test to change.
func (s *Sim) Claims(uri string, body []byte) map[string]any {
	return s.claims(uri, body, s.cfg.Now())
}

// claims binds a token to its receiver and its time. Only Config.Claims can bind it to the body,
// because no such claim is documented.
func (s *Sim) claims(uri string, body []byte, now time.Time) map[string]any {
	c := map[string]any{"aud": s.cfg.Audience, "iss": s.cfg.Issuer, "iat": now.Unix(), "exp": now.Add(tokenLife).Unix()}
	if s.cfg.Audience == "" {
		c["aud"] = uri
	}
	if s.cfg.Issuer == "" {
		c["iss"] = defaultIssuer
	}
	if s.cfg.Claims == nil {
		return c
	}
	maps.Copy(c, s.cfg.Claims(body))
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// metadataClaims are the claims of an operation's own.
func (s *Sim) metadataClaims(o *operation) map[string]any {
	if s.cfg.MetadataIn != MetadataInClaims || len(o.userMetadata) == 0 {
		return nil
	}
	return map[string]any{"user_metadata": o.userMetadata}
}

// token signs a dynamic delivery. more are the claims of its operation.
func (s *Sim) token(uri string, body []byte, now time.Time, more map[string]any) string {
	claims := s.claims(uri, body, now)
	maps.Copy(claims, more)
	return s.Token(claims, TokenOptions{})
}

// Token returns a bare JWT with exactly these claims, valid or not. It panics if key and algorithm
// do not match.
func (s *Sim) Token(claims map[string]any, o TokenOptions) string {
	s.mu.Lock()
	signer := s.signingKeys().find(o.KeyID)
	s.mu.Unlock()
	switch {
	case o.KeyID == "-":
		o.KeyID = ""
	case o.KeyID == "":
		o.KeyID = signer.id
	}
	if o.Key == nil {
		o.Key = signer.key
	}
	if o.Alg == "" {
		o.Alg = jose.RS256
	}
	header := map[jose.HeaderKey]any{"typ": "JWT"}
	if o.KeyID != "" {
		header["kid"] = o.KeyID
	}
	if o.Alg == "none" { // no signing library makes it
		header["alg"] = "none"
		encode := base64.RawURLEncoding.EncodeToString
		return encode(mustJSON(header)) + "." + encode(mustJSON(claims)) + "."
	}
	jws, err := jose.NewSigner(jose.SigningKey{Algorithm: o.Alg, Key: o.Key}, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		panic("geminisim: Token: " + err.Error())
	}
	signed, err := jws.Sign(mustJSON(claims))
	if err != nil {
		panic("geminisim: Token: " + err.Error())
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic("geminisim: Token: " + err.Error())
	}
	return token
}
