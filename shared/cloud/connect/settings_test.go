package connect_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/cloud/connect"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// TestStoreSettings: of a rolling deployment's two revisions the one that starts last counts, none is
// refused, and the log says what it replaced [L7].
func TestStoreSettings(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	starts := func(by string, environ ...string) string {
		t.Helper()
		settings, err := config.Parse[struct{ Ledger config.Ledger }](environ)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.New(store, settings.Ledger.Settings(), ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		said.Reset()
		connect.StoreSettings(t.Context(), l, settings.Ledger, by, log)
		return said.String()
	}
	const old, next = "OPLEDGER_RETENTION=48h", "OPLEDGER_RETENTION=72h"
	for _, c := range []struct{ by, set, says string }{
		{"webhook", old, ""}, {"register", old, ""},
		{"webhook", next, "OPLEDGER_RETENTION: it is 72h0m0s here, and 48h0m0s in the ledger"},
		{"register", old, "OPLEDGER_RETENTION: it is 48h0m0s here, and 72h0m0s in the ledger"},
	} {
		if line := starts(c.by, c.set); !strings.Contains(line, c.says) || c.says == "" && line != "" {
			t.Errorf("%s with %s: %q", c.by, c.set, line)
		}
		stored, err := ledger.ReadSettings(t.Context(), store)
		if err != nil || !strings.HasPrefix(c.set, "OPLEDGER_RETENTION="+stored.Values["OPLEDGER_RETENTION"][:3]) {
			t.Errorf("%s with %s: %+v %v", c.by, c.set, stored, err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if line := starts("webhook", old); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "outcome=error") {
		t.Errorf("without its store: %q", line)
	}
}
