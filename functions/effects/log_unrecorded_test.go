package effects_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/logging"
)

// TestUnrecorded: what the ledger could not record is answered 503 and logged as uncertain, for
// every outcome and every form of message. The queue redelivers it [S10].
func TestUnrecorded(t *testing.T) {
	for outcome, result := range map[string]error{
		"finished": nil, "failed": errTarget, "dead": effect.Permanent(errTarget),
	} {
		t.Run(outcome, func(t *testing.T) {
			onLine(t, []string{"publish"}, func(w *line) {
				w.plan(1)
				var down atomic.Bool
				store := ledgertest.InjectFunc(w.store, func() ledgertest.Fault {
					if down.Load() {
						return ledgertest.FailBefore
					}
					return ledgertest.None
				})
				l, err := ledger.New(store, w.settings, ledger.Options{})
				if err != nil {
					w.Fatal(err)
				}
				f := effects.New(effects.Options{
					Runner: effect.NewRunner(l, map[string]effect.Handler{
						"publish": effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
							down.Store(true)
							return nil, result
						}),
					}),
					Now: time.Now, Log: logging.New(&w.log, ""),
				})
				for form, make := range forms {
					down.Store(false)
					header, body := make(`{"operation":"batches/0000","effect":"publish","attempt":1}`)
					request := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/", strings.NewReader(body))
					if header != nil {
						request.Header = header
					}
					answer := httptest.NewRecorder()
					f.ServeHTTP(answer, request)
					if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
						w.Errorf("%s: %d %v %s", form, answer.Code, answer.Header(), answer.Body)
					}
					lines := w.log.Drain(w)
					if logged := fmt.Sprint(lines[0]["outcome"], " ", lines[0]["reason"], " ",
						lines[0]["uncertain"]); logged != "unrecorded "+outcome+" true" {
						w.Errorf("%s: logged %v", form, lines)
					}
					time.Sleep(w.settings.ClaimTTL)
				}
			})
		})
	}
}
