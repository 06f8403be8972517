package console

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestConfirmationsOfOneView: of ten questions that were opened on one view and confirmed at once one is
// acted on, and the others are told that it has changed [G5].
func TestConfirmationsOfOneView(t *testing.T) {
	t.Parallel()
	w := acting(t)
	forms := make([]url.Values, 10)
	for i := range forms {
		forms[i] = w.question(everyAction[3].address())
	}
	var all sync.WaitGroup
	var done atomic.Int32
	for _, form := range forms {
		all.Go(func() {
			switch answer := w.post(form); {
			case answer.Code == http.StatusOK:
				done.Add(1)
			case answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), "Nothing was done."):
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
		})
	}
	all.Wait()
	story, err := w.Operations.Show(t.Context(), "batches/done")
	w.do(err)
	if done.Load() != 1 || len(story.Effects) != 2 {
		t.Errorf("%d were done, and there are %d runs: %+v", done.Load(), len(story.Effects), story.Effects)
	}
}
