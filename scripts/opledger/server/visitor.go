package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"github.com/opledger/opledger/shared/httpfunc"
)

// tokenQuery is the parameter of a page's address in which a browser shows the token, once.
const tokenQuery = "token"

// visitors admits those whom callers admits, and browsers that were shown the token: once in the
// address of a page, from then on by a cookie. It is for the console's pages alone.
func (g *guard) visitors(next http.Handler) http.Handler {
	return g.protect(g.enter(next), g.checkLink, g.admitVisitor)
}

// checkLink lets a page of another origin lead to this one. The browser leaves that page, or opens a
// window that it cannot look into.
func (g *guard) checkLink(r *http.Request) *refusal {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	return g.checkOrigin(r)
}

func (g *guard) admitVisitor(r *http.Request) *refusal {
	if g.token == "" {
		return g.admitCaller(r)
	}
	name, value := g.cookie()
	cookied := slices.ContainsFunc(r.CookiesNamed(name), func(c *http.Cookie) bool { return sameToken(c.Value, value) })
	linked := r.Method == http.MethodGet && sameToken(r.URL.Query().Get(tokenQuery), g.token)
	if cookied || linked || g.admitCaller(r) == nil {
		return nil
	}
	return refuse(http.StatusUnauthorized, "token",
		"open the address of the console that serve printed, or send the header Authorization: Bearer with its token")
}

// enter sets the cookie of a browser whose address has the token, and sends it on to the address
// without. The browser does that by itself, and not by a redirect: a cookie that is Strict is not
// sent where a link elsewhere began.
func (g *guard) enter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.Method != http.MethodGet || !query.Has(tokenQuery) {
			next.ServeHTTP(w, r)
			return
		}
		if name, value := g.cookie(); g.token != "" {
			http.SetCookie(w, &http.Cookie{
				Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
				Secure: r.Header.Get("X-Forwarded-Proto") == "https",
			})
		}
		query.Del(tokenQuery)
		to := *r.URL
		to.RawQuery = query.Encode()
		w.Header().Set("Refresh", "0; url="+to.RequestURI())
		w.Header().Set("Cache-Control", "no-store")
		httpfunc.WriteJSON(w, http.StatusOK, map[string]string{"opens": to.Path})
	})
}

// cookie returns the cookie for the console. Its name differs from server to server, because a
// browser keeps one set of cookies for all ports of a machine. Its value opens nothing else, and
// does not reveal the token.
func (g *guard) cookie() (name, value string) {
	derived := func(what string) string {
		mac := hmac.New(sha256.New, []byte(g.token))
		_, _ = fmt.Fprint(mac, "opledger console ", what) // a hash takes everything
		return hex.EncodeToString(mac.Sum(nil))
	}
	return "opledger-" + derived("name")[:8], derived("cookie")
}
