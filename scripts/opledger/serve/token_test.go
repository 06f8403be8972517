package serve_test

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/serve"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/test/commandtest"
)

// TestServeMakesAToken: serve makes a token at its first start, in a file that no other user can
// read, and takes it again at the next. Without it only the public routes are answered. What it
// prints lets programs and a browser in, and no log has the token [G7].
func TestServeMakesAToken(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	own := []string{"OPLEDGER_SERVE_TOKEN=", "OPLEDGER_STORE=" + f.Store()}
	s := commandtest.Serving(t, own)
	path := f.Path + ".token"
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	kept, err := os.ReadFile(path)
	token := strings.TrimSpace(string(kept))
	if err != nil || len(token) < 43 {
		t.Fatalf("%q, %v", kept, err)
	}
	if !slices.Contains(s.Lines, "  "+serve.Export([]string{"OPLEDGER_URL=" + s.URL, "OPLEDGER_TOKEN_FILE=" + path})) ||
		!slices.Contains(s.Lines, "watch in a browser: "+s.URL+"/?token="+token) {
		t.Errorf("it says %q", s.Lines)
	}
	s.WantStatus(401, "POST", s.URL+"/register")
	s.WantStatus(401, "GET", s.URL+"/")
	s.WantStatus(401, "POST", s.URL+"/webhook") // not signed
	s.WantStatus(200, "GET", s.URL+"/health")
	s.WantStatus(201, "POST", s.URL+"/register", "Authorization", "Bearer "+token)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar, Transport: http.DefaultTransport}
	for _, address := range []string{s.URL + "/?token=" + token, s.URL + "/console/operations"} {
		if answer, err := browser.Get(address); err != nil || answer.StatusCode != 200 || answer.Body.Close() != nil {
			t.Errorf("%s: %v %v", address, answer, err)
		}
	}
	if log := s.Stop(); strings.Contains(log, token) {
		t.Errorf("the token is logged: %s", log)
	}
	again := commandtest.Serving(t, own)
	again.WantStatus(200, "POST", again.URL+"/register", "Authorization", "Bearer "+token)
	again.Stop()
}

// TestServeTokenOfOperator: a token that the operator gives is neither printed nor kept in a file;
// "none" opens serve to this machine, and it warns. A simulation makes no token [G7].
func TestServeTokenOfOperator(t *testing.T) {
	t.Parallel()
	for token, status := range map[string]int{commandtest.ServeToken: 401, "none": 201} {
		f := commandtest.NewFile(t)
		s := commandtest.Serving(t, []string{"OPLEDGER_SERVE_TOKEN=" + token, "OPLEDGER_STORE=" + f.Store()})
		s.WantStatus(status, "POST", s.URL+"/register")
		said := strings.Join(s.Lines, "\n")
		if strings.Contains(said, commandtest.ServeToken) || !strings.Contains(said, "watch in a browser: "+s.URL) {
			t.Errorf("%s: it says %s", token, said)
		}
		log := s.Stop()
		if warned := strings.Contains(log, "OPLEDGER_SERVE_TOKEN is none"); warned != (token == "none") {
			t.Errorf("%s: it warns %t: %s", token, warned, log)
		}
		if _, err := os.Stat(f.Path + ".token"); err == nil {
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
		{commandtest.ServeToken, "its mode is -rw-r--r--: delete it, and serve makes another", 0o644},
		{"hunter2", "it must have at least 32 characters", 0o600},
		{"", "it must have at least 32 characters", 0o600},
	} {
		f := commandtest.NewFile(t)
		path := f.Path + ".token"
		if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		got := commandtest.Run(t, []string{"GEMINI_API_KEY=k", "OPLEDGER_STORE=" + f.Store()}, "serve", "--port",
			"0").Want(t, terminal.ExitFailed)
		if complaint := got.Complaint(t); !strings.Contains(complaint, path) || !strings.Contains(complaint, c.want) ||
			strings.Contains(complaint, "hunter2") {
			t.Errorf("%q: %s", c.content, complaint)
		}
	}
}

// TestServeTokenPlanted: serve takes no token that another user of the machine may have put there, and so
// knows: it says what the file is, and what to do [G7].
func TestServeTokenPlanted(t *testing.T) {
	t.Parallel()
	plants := map[string]func(path, elsewhere string) error{
		"it is a symbolic link": func(path, elsewhere string) error {
			return errors.Join(os.WriteFile(elsewhere, []byte(commandtest.ServeToken), 0o600), os.Symlink(elsewhere, path))
		},
		"it is a symbolic link:": func(path, elsewhere string) error { return os.Symlink(elsewhere, path) }, // to nothing
		"it is no regular file":  func(path, _ string) error { return os.Mkdir(path, 0o700) },
	}
	if os.Geteuid() == 0 { // only then can a file be another's
		plants["it belongs to another user"] = func(path, _ string) error {
			return errors.Join(os.WriteFile(path, []byte(commandtest.ServeToken), 0o600), os.Chown(path, 65534, 65534))
		}
	}
	for want, plant := range plants {
		where := open.Location{Store: config.Store{SQLite: commandtest.NewFile(t).Path}}
		path := where.SQLite + ".token"
		if err := plant(path, where.SQLite+".elsewhere"); err != nil {
			t.Fatal(err)
		}
		var access config.Access
		_, err := serve.OwnToken(&access, where)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), ": delete it, and serve makes another") || access.Token != "" {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestServeTokenAtOnce: processes that start at the same time have the same token [G7].
func TestServeTokenAtOnce(t *testing.T) {
	t.Parallel()
	where := open.Location{Store: config.Store{SQLite: commandtest.NewFile(t).Path}}
	tokens := make(chan string)
	for range 8 {
		go func() {
			var access config.Access
			if _, err := serve.OwnToken(&access, where); err != nil {
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
		where, err := open.Find(terminal.Environment{Variables: []string{"GOOGLE_CLOUD_PROJECT=p"}, Store: flag})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := serve.TokenFile(where); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", flag, got, err, want)
		}
	}
}
