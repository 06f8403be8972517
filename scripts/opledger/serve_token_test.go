package main

import (
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
)

// TestServeMakesAToken: serve makes a token at its first start, in a file that no other user can
// read, and takes it again at the next. Without it only the public routes are answered. What it
// prints lets programs and a browser in, and no log has the token [G7].
func TestServeMakesAToken(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	own := []string{"OPLEDGER_SERVE_TOKEN=", "OPLEDGER_STORE=" + f.store()}
	s := serving(t, own)
	path := f.path + ".token"
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	kept, err := os.ReadFile(path)
	token := strings.TrimSpace(string(kept))
	if err != nil || len(token) < 43 {
		t.Fatalf("%q, %v", kept, err)
	}
	if !slices.Contains(s.lines, "  "+export([]string{"OPLEDGER_URL=" + s.url, "OPLEDGER_TOKEN_FILE=" + path})) ||
		!slices.Contains(s.lines, "watch in a browser: "+s.url+"/?token="+token) {
		t.Errorf("it says %q", s.lines)
	}
	s.wantStatus(401, "POST", s.url+"/register")
	s.wantStatus(401, "GET", s.url+"/")
	s.wantStatus(401, "POST", s.url+"/webhook") // not signed
	s.wantStatus(200, "GET", s.url+"/health")
	s.wantStatus(201, "POST", s.url+"/register", "Authorization", "Bearer "+token)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar, Transport: http.DefaultTransport}
	for _, address := range []string{s.url + "/?token=" + token, s.url + "/console/operations"} {
		if answer, err := browser.Get(address); err != nil || answer.StatusCode != 200 || answer.Body.Close() != nil {
			t.Errorf("%s: %v %v", address, answer, err)
		}
	}
	if log := s.stop(); strings.Contains(log, token) {
		t.Errorf("the token is logged: %s", log)
	}
	again := serving(t, own)
	again.wantStatus(200, "POST", again.url+"/register", "Authorization", "Bearer "+token)
	again.stop()
}

// TestServeTokenOfOperator: a token that the operator gives is neither printed nor kept in a file;
// "none" opens serve to this machine, and it warns. A simulation makes no token [G7].
func TestServeTokenOfOperator(t *testing.T) {
	t.Parallel()
	for token, status := range map[string]int{serveToken: 401, "none": 201} {
		f := newFile(t)
		s := serving(t, []string{"OPLEDGER_SERVE_TOKEN=" + token, "OPLEDGER_STORE=" + f.store()})
		s.wantStatus(status, "POST", s.url+"/register")
		said := strings.Join(s.lines, "\n")
		if strings.Contains(said, serveToken) || !strings.Contains(said, "watch in a browser: "+s.url) {
			t.Errorf("%s: it says %s", token, said)
		}
		log := s.stop()
		if warned := strings.Contains(log, "OPLEDGER_SERVE_TOKEN is none"); warned != (token == "none") {
			t.Errorf("%s: it warns %t: %s", token, warned, log)
		}
		if _, err := os.Stat(f.path + ".token"); err == nil {
			t.Errorf("%s: a token was made", token)
		}
	}
}

// TestServeTokenFile: serve does not start with a token that others may read or guess, and says what
// to do [G7].
func TestServeTokenFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content, want string
		mode          os.FileMode
	}{
		{serveToken, "others may read it: chmod 600 it, or delete it, and serve makes another", 0o644},
		{"hunter2", "it must have at least 32 characters", 0o600},
		{"", "it must have at least 32 characters", 0o600},
	} {
		f := newFile(t)
		path := f.path + ".token"
		if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		got := cli(t, []string{"GEMINI_API_KEY=k", "OPLEDGER_STORE=" + f.store()}, "serve", "--port", "0").want(t, exitFailed)
		if complaint := got.complaint(t); !strings.Contains(complaint, path) || !strings.Contains(complaint, c.want) ||
			strings.Contains(complaint, "hunter2") {
			t.Errorf("%q: %s", c.content, complaint)
		}
	}
}

// TestServeTokenAtOnce: processes that start at the same time have the same token [G7].
func TestServeTokenAtOnce(t *testing.T) {
	t.Parallel()
	where := location{Store: config.Store{SQLite: newFile(t).path}}
	tokens := make(chan string)
	for range 8 {
		go func() {
			var access config.Access
			if _, err := new(serveFlags).ownToken(&access, where); err != nil {
				t.Error(err)
			}
			tokens <- access.Token
		}()
	}
	first := <-tokens
	for range 7 {
		if token := <-tokens; token != first || token == "" {
			t.Errorf("tokens %q and %q", first, token)
		}
	}
	drafts, err := filepath.Glob(filepath.Join(filepath.Dir(where.SQLite), ".opledger*"))
	if err != nil || len(drafts) > 0 {
		t.Errorf("%q, %v", drafts, err)
	}
}

// TestTokenFile: the token is beside a ledger that is a file, and else where serve is started.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"sqlite:/srv/ledger.db": "/srv/ledger.db.token", "sqlite:ledger.db": filepath.Join(here, "ledger.db.token"),
		"firestore:ledger": filepath.Join(here, "opledger.token"),
	} {
		where, err := findStore(environment{variables: []string{"GOOGLE_CLOUD_PROJECT=p"}}, flag)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tokenFile(where); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", flag, got, err, want)
		}
	}
}
