package console

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/generated"
)

// TestPicture: the picture in README.md is what the console draws of this operation: its end is
// delivered before a stale RUNNING, and its receiver fails once.
func TestPicture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	const key = operation.Key("batches/reviews")
	_, err := w.Intents.Intend(w.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: "nightly-2026-11-21", JobKind: "nightly"},
	})
	w.do(err)
	w.pass(900 * time.Millisecond)
	w.register(key, "nightly", "nightly-2026-11-21")
	w.pass(6 * time.Minute)
	event := func(id, kind string, state operation.State, source operation.Source) {
		_, err := w.Operations.Ingest(w.Context(), operation.Event{
			Name: operation.Name{Key: key, Resource: string(key)}, DeliveryID: id, Source: source, Type: kind,
			State: state, UpdateTime: w.now,
		})
		w.do(err)
	}
	event("look-up", "", operation.Running, operation.Reconcile)
	w.pass(25 * time.Minute)
	event("msg_1", "batch.succeeded", operation.Succeeded, operation.Webhook)
	w.pass(300 * time.Millisecond)
	w.fails(key, "the receiver answered 503", 0)
	w.pass(2 * time.Second)
	event("msg_2", "batch.running", operation.Running, operation.Webhook)
	w.pass(2 * time.Second)
	w.attempt(key, func(ctx context.Context, lease ledger.Lease) error { return w.Effects.Finish(ctx, lease) })
	w.pass(time.Minute)

	shown, err := loadOperation(w.console, &request{
		Context: w.Context(), query: url.Values{theKey: {string(key)}}, now: w.now,
	})
	w.do(err)
	drawn, ok := shown.(operationPage)
	if !ok || len(drawn.Timeline.Marks) < 8 {
		t.Fatalf("the page has %+v", shown)
	}
	page := pages[slices.IndexFunc(pages, func(p page) bool { return p.file == "operation.html" })]
	generated.File(t, filepath.Join("..", "..", "..", ".github", "timeline.svg"),
		standalone(t, string(w.console.render(page.templates(), "timeline", drawn.Timeline)), drawn.Timeline),
		"go test ./scripts/opledger/console -run TestPicture -update")
}

var svg = regexp.MustCompile(`(?s)<svg [^>]*role="img"[^>]*>(.*)</svg>`)

// standalone is the picture of a page as a file: with its colours, and the list of its events.
func standalone(t *testing.T, rendered string, drawn timeline) string {
	t.Helper()
	found := svg.FindStringSubmatch(rendered)
	css, err := os.ReadFile(filepath.Join("static", "console.css"))
	if err != nil || found == nil {
		t.Fatalf("the page has no picture: %v", err)
	}
	const margin, lineHeight = 16, 18
	height := drawn.Height + lineHeight*len(drawn.Marks) + 3*margin
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">
<style>
`, drawn.Width+2*margin, height)
	colours, _, _ := strings.Cut(string(css), "* {")
	text.WriteString(colours)
	for line := range strings.Lines(string(css)) {
		if strings.HasPrefix(line, "svg") || strings.HasPrefix(line, ".event ") || strings.HasPrefix(line, ".event.") {
			text.WriteString(line)
		}
	}
	fmt.Fprintf(&text, `.card { fill: var(--card); stroke: var(--line); } .words { fill: var(--text); }
</style>
<rect class="card" x="0.5" y="0.5" width="%d" height="%d" rx="12"/>
<g transform="translate(%d,%d)">%s</g>
`, drawn.Width+2*margin-1, height-1, margin, margin, strings.TrimSpace(found[1]))
	for i, m := range drawn.Marks {
		fmt.Fprintf(&text, `<text class="words" x="%d" y="%d">%d. +%s  %s: %s</text>`+"\n", margin,
			drawn.Height+2*margin+lineHeight*(i+1)-4, m.N, phrase.Took(m.At.Sub(drawn.Marks[0].At)),
			html.EscapeString(m.Lane), html.EscapeString(m.Words))
	}
	return text.String() + "</svg>\n"
}
