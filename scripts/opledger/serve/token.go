package serve

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/shared/config"
)

// tokenFile returns where serve keeps the token that it makes: beside a ledger that is a file, and
// for any other in the working directory, where the ledger is by default.
func tokenFile(where open.Location) (string, error) {
	if !where.IsFile() {
		return filepath.Abs("opledger.token")
	}
	return filepath.Abs(where.SQLite + ".token")
}

// ownToken gives access the token that serve keeps in a file, and makes both where there is none.
// Where the settings say what the token is, or there is a simulation, it does nothing and returns no
// file.
func (f *serveFlags) ownToken(access *config.Access, where open.Location) (file string, err error) {
	if access.Token != "" || f.simulate.on {
		return "", nil
	}
	if file, err = tokenFile(where); err == nil {
		access.Token, err = readToken(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeToken(file); err == nil {
			access.Token, err = readToken(file)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the token of serve in %s: %w; or set OPLEDGER_SERVE_TOKEN", file, err)
	}
	return file, nil
}

// readToken reads a token that only this user can have written and can read, and no caller can guess.
func readToken(file string) (string, error) {
	content, err := open.ReadOwn(file)
	if errors.Is(err, open.ErrNotOwn) {
		return "", fmt.Errorf("%w: delete it, and serve makes another", err)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if err := config.CheckToken(token); err != nil {
		return "", fmt.Errorf("%w: delete the file, and serve makes another", err)
	}
	return token, nil
}

// makeToken writes a token of 32 random bytes. A file that another process made meanwhile stays: it
// is whole, because it appears under its name only when it is.
func makeToken(file string) error {
	token := make([]byte, 32)
	_, _ = rand.Read(token)                                             // it never fails
	draft, err := os.CreateTemp(filepath.Dir(file), ".opledger-token-") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) //nolint:errcheck // the token has another name then
	_, err = fmt.Fprintln(draft, base64.RawURLEncoding.EncodeToString(token))
	if err := errors.Join(err, draft.Close()); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
