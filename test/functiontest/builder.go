// Package functiontest has what the tests of all functions share: how a function is built from its variables.
package functiontest

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
)

// A Builder builds a function with variables in the form of os.Environ, as its deployment does.
type Builder func(ctx context.Context, environ ...string) error

// BuilderOf returns the Builder of a function's own build.
func BuilderOf[Settings any](build func(context.Context, Settings, *slog.Logger) (http.Handler, error)) Builder {
	return func(ctx context.Context, environ ...string) error {
		settings, err := config.Parse[Settings](environ)
		if err == nil {
			_, err = build(ctx, settings, slog.New(slog.DiscardHandler))
		}
		return err
	}
}

// Unopened wants a function that can be built with these variables not to be built where there are no
// credentials for its ledger. The test cannot be parallel.
func (b Builder) Unopened(t *testing.T, environ ...string) {
	t.Helper()
	environ = append(environ, "GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_TOPIC=effects")
	t.Setenv("FIRESTORE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "none.json")
	if err := b(t.Context(), environ...); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("without credentials: %v", err)
	}
}

// Unbuilt wants a function not to be built with these variables where its ledger can be opened, and to
// say why. Its time is over, so that it asks nothing. The test cannot be parallel.
func (b Builder) Unbuilt(t *testing.T, says string, environ ...string) {
	t.Helper()
	environ = append(environ, "GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_TOPIC=effects")
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	const user = `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"t"}`
	if err := os.WriteFile(credentials, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FIRESTORE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b(ctx, environ...); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want an error that says %s", err, says)
	}
}
