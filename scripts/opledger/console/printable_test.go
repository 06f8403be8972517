package console

import (
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/opledger/opledger/shared/operation"
)

// TestPrintable: a name, a job kind or a correlation id that would turn text round, or command what
// shows it, is escaped where a page shows it. A form sends it back as it is [G8].
func TestPrintable(t *testing.T) {
	t.Parallel()
	const key = operation.Key("batches/a\u202egpj.b\u2066")
	w := acting(t)
	w.register(key, "night\u009bly\x1b[2J", "c\u202e1")
	for _, address := range []string{
		"/", "/console/operations", link("/console/operation", theKey, string(key)),
		link(askPath, "do", "abandon", theKey, string(key)),
	} {
		body := w.get(address).Body.String()
		for _, r := range body {
			if !unicode.IsPrint(r) && r != '\n' {
				t.Errorf("%s has %U", address, r)
			}
		}
		if address != "/" && !strings.Contains(body, `a\u202egpj.b\u2066`) {
			t.Errorf("%s does not show the name:\n%s", address, body)
		}
	}
	form := w.question(link(askPath, "do", "abandon", theKey, string(key)))
	form.Set("by", "ada")
	form.Set("why", "never submitted")
	if got := w.post(form); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	rec, err := w.Operations.Read(t.Context(), key)
	if err != nil || rec.Abandoned == nil {
		t.Errorf("%+v %v", rec, err)
	}
	if got := w.get(link("/console/operations", "job", "night*")).Body.String(); !strings.Contains(got,
		`night\u009bly\x1b[2J`) || !strings.Contains(got, url.QueryEscape(string(key))) {
		t.Errorf("%s", got)
	}
}
