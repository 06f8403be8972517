package staging

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/test/harness"
)

// TestSettingsAtStart: each of the four functions stores what decides what is planned when it starts,
// before it has anything to record [L7].
func TestSettingsAtStart(t *testing.T) {
	t.Parallel()
	host := harness.Firestore(t)
	for function, request := range firstRequests {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			project := harness.ProjectID(t)
			store, err := firestore.Open(t.Context(), project, "opledger", dial.Options(host)...)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			if stored, err := ledger.ReadSettings(t.Context(), store); err != nil || !stored.IsZero() {
				t.Fatalf("before: %+v %v", stored, err)
			}
			given := map[string]string{
				"GOOGLE_CLOUD_PROJECT": project, "OPLEDGER_WEBHOOK_SECRET": secret, "OPLEDGER_RETENTION": "400h",
				"OPLEDGER_EFFECTS": "[{name: publish, do: log, on: [SUCCEEDED]}]",
			}
			s := start(t, build(t, function).binary, functions[function], append(environment(t, function, given),
				"FIRESTORE_EMULATOR_HOST="+host, "PUBSUB_EMULATOR_HOST=127.0.0.1:1")...)
			s.first(t, request.method, request.path, request.body)
			stored, err := ledger.ReadSettings(t.Context(), store)
			if err != nil || stored.StoredBy != function || stored.Values["OPLEDGER_RETENTION"] != "400h0m0s" ||
				len(stored.Rules) != 1 || stored.Rules[0].Name != "publish" {
				t.Errorf("%+v %v\n%s", stored, err, s.printed())
			}
		})
	}
}
