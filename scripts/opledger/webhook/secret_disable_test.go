package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/commandtest"
)

const disableFirst = "gcloud secrets versions disable 1 --secret=opledger-webhook --project=p"

// TestWebhookRevokeFails: a revocation fails closed. While a stolen secret may still be accepted,
// the exit code is 1, the error says which versions to disable and how, and no output claims that
// they are revoked. A second run does the rest [G3].
func TestWebhookRevokeFails(t *testing.T) {
	t.Parallel()
	both := []string{
		"/versions/1 with " + disableFirst, "/versions/2 with " + strings.Replace(disableFirst, "disable 1", "disable 2", 1),
	}
	for about, c := range map[string]struct {
		fault    func(w *hookWorld)
		says     []string
		disabled int
	}{
		"disabling": {
			func(w *hookWorld) { w.secrets.Deny("secretmanager.versions.disable") },
			append(both, "roles/secretmanager.secretVersionManager"), 0,
		},
		"disabling one": {
			func(w *hookWorld) { w.secrets.Fail("DisableSecretVersion", codes.Unavailable, 1) },
			append(both[1:], "Unavailable"), 1,
		},
		"listing the versions": {
			func(w *hookWorld) { w.secrets.Deny("secretmanager.versions.list") },
			[]string{
				"could not be read", "roles/secretmanager.viewer", "gcloud secrets versions list opledger-webhook --project=p",
				strings.Replace(disableFirst, "disable 1", "disable NUMBER", 1),
			}, 0,
		},
		"reading a version": {
			func(w *hookWorld) { w.secrets.Deny("secretmanager.versions.access") },
			[]string{"could not be read", "secretAccessor", "every version older than projects/"}, 0,
		},
		"listing the webhooks": {
			func(w *hookWorld) { w.at(http.MethodGet, "/webhooks", unavailable) },
			append(both, "503", "another webhook"), 0,
		},
	} {
		for _, form := range []string{"--json=false", "--json"} {
			t.Run(about+form, func(t *testing.T) {
				t.Parallel()
				w := newHookWorld(t)
				w.do("create").Want(t, terminal.ExitDone)
				w.do("rotate").Want(t, terminal.ExitDone)
				id := w.only()
				c.fault(w)
				s := w.do("rotate", id, "--revoke-now", form).Want(t, terminal.ExitFailed,
					append(c.says, "webhook "+id+" has a new secret, but")...)
				s.Complaint(t)
				s.Says(t, "/versions/3")
				if form == "--json" {
					var answer struct {
						Revoked          *bool
						DisabledVersions []string
					}
					commandtest.OneObject(t, s.Out, &answer)
					if answer.Revoked == nil || *answer.Revoked || len(answer.DisabledVersions) != c.disabled {
						t.Errorf("%s", s.Out)
					}
				} else if strings.Contains(s.Out, "revoked") {
					t.Errorf("a revocation is claimed: %s", s.Out)
				}
				if c.disabled == 1 && strings.Contains(s.Err, disableFirst) {
					t.Errorf("a version is named that was disabled: %s", s.Err)
				}

				w.secrets.ClearFaults()
				w.at("", "", nil)
				w.do("rotate", "--revoke-now").Want(t, terminal.ExitDone).Says(t, "the old secrets are revoked")
				told := w.told()
				w.wantStored(told[3], "-"+told[2], "-"+told[1], "-"+told[0])
			})
		}
	}
}

// showing makes Gemini list webhooks with these secrets, each given by its last characters and its
// expiry, if any.
func (w *hookWorld) showing(hooks map[string]map[string]time.Time) {
	type shown struct {
		Truncated string     `json:"truncated_secret"`
		Expires   *time.Time `json:"expire_time,omitempty"`
	}
	list := []map[string]any{}
	for id, secrets := range hooks {
		signing := []shown{}
		for text, end := range secrets {
			one := shown{Truncated: "whsec_..." + text[len(text)-4:]}
			if !end.IsZero() {
				one.Expires = &end
			}
			signing = append(signing, one)
		}
		list = append(list, map[string]any{"id": id, "uri": "https://" + id + ".example/", "state": "enabled",
			"signing_secrets": signing})
	}
	w.at(http.MethodGet, "/webhooks", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(rw).Encode(map[string]any{"webhooks": list}); err != nil {
			w.t.Error(err)
		}
	})
}

// TestWebhookRevokeListed: a secret that Gemini lists for the webhook itself is disabled, expired
// or not; one of another webhook is kept until it has expired.
func TestWebhookRevokeListed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about, hook string // hook: for which webhook the first secret is listed
		end         time.Duration
		kept        bool
	}{
		{"ours, expired", "ours", -time.Second, false},
		{"ours, not yet expired", "ours", 24 * time.Hour, false},
		{"ours, as the current one", "ours", 0, false},
		{"another's, expired", "other", -time.Second, false},
		{"another's, not yet expired", "other", time.Hour, true},
		{"another's current one", "other", 0, true},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			clock := hookClock()
			w := newHookWorldAt(t, clock.Now)
			w.do("create").Want(t, terminal.ExitDone)
			ours, first := w.only(), w.told()[0]
			listedFor := map[string]string{"ours": ours, "other": "other"}[c.hook]
			var end time.Time
			if c.end != 0 {
				end = clock.Now().Add(c.end)
			}
			w.showing(map[string]map[string]time.Time{listedFor: {first: end}})
			w.do("rotate", ours, "--revoke-now").Want(t, terminal.ExitDone).Says(t, "the old secrets are revoked")
			if c.kept {
				w.wantStored(w.told()[1], first)
			} else {
				w.wantStored(w.told()[1], "-"+first)
			}
		})
	}
}

// TestWebhookRotateListedExpired: without --revoke-now, too, no webhook signs with a secret that
// Gemini lists as expired.
func TestWebhookRotateListedExpired(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	w.do("create").Want(t, terminal.ExitDone)
	id, first := w.only(), w.told()[0]
	w.do("rotate").Want(t, terminal.ExitDone)
	clock.Advance(26 * time.Hour)
	w.showing(map[string]map[string]time.Time{id: {first: clock.Now().Add(-2 * time.Hour)}})
	w.do("rotate", id).Want(t, terminal.ExitDone).Says(t, "disabled", "/versions/1")
	w.wantStored(w.told()[2], w.told()[1], "-"+first)
}

// TestWebhookRevokePrinted: without Secret Manager it is unknown which secrets the webhook function
// accepts, and the output claims nothing about it.
func TestWebhookRevokePrinted(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.registerWebhook(hookURL)
	variables := w.with("OPLEDGER_WEBHOOK_SECRET")
	s := w.doWith(variables, "", "rotate", "--revoke-now", "--print-secret").Want(t, terminal.ExitDone).
		Says(t, "Gemini no longer signs with the old secrets", "until they are removed from its settings")
	if strings.Contains(s.Out, "revoked") {
		t.Errorf("%s", s.Out)
	}
	w.doWith(variables, "", "rotate", "--revoke-now", "--print-secret", "--json").Want(t, terminal.ExitDone).Says(t,
		`"revoked": false`)
}

// TestWebhookRevokeKeepsNewer: a version that was stored after the new secret is not an old one.
func TestWebhookRevokeKeepsNewer(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	w.do("create").Want(t, terminal.ExitDone)
	newer := w.secrets.Put(hookSecret, "newer", clock.Now().Add(time.Minute))
	s := w.do("rotate", "--revoke-now", "--json").Want(t, terminal.ExitDone)
	var answer struct{ DisabledVersions []string }
	commandtest.OneObject(t, s.Out, &answer)
	if want := fmt.Sprint([]string{versionNamed(w.secrets, w.told()[0])}); fmt.Sprint(answer.DisabledVersions) != want {
		t.Errorf("disabled %v, want %v and not %s", answer.DisabledVersions, want, newer)
	}
}

func versionNamed(secrets *secretsim.Sim, data string) string {
	for _, one := range secrets.Versions(hookSecret) {
		if one.Data == data {
			return one.Name
		}
	}
	return "none"
}
