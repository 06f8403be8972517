package geminisim_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// bubble runs a test on a fake clock with a receiver and one registered webhook.
func bubble(
	t *testing.T, cfg geminisim.Config, answer func(int, got) (int, error),
	test func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string),
) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{answer: answer}
		cfg.HTTP = rc.client()
		sim := geminisim.New(cfg)
		defer sim.Close()
		_, secret := register(t, sim)
		test(t, sim, rc, secret)
	})
}

// over waits until n batches have ended and every delivery is over.
func over(n int) func(geminisim.Stats) bool {
	return func(st geminisim.Stats) bool { return st.Settled == n && st.Open == 0 }
}

func TestCompletionIsDelivered(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string) {
		name := submit(t, sim, "one")
		waitWithin(t, week, sim, over(1))
		all := rc.all()
		if len(all) != 1 {
			t.Fatalf("%d deliveries", len(all))
		}
		d := all[0]
		verify(t, d, secret)
		truth := sim.Batches()[0]
		want := event{
			Type: "batch.succeeded", Version: "v1", Timestamp: truth.UpdateTime.UTC(),
			Data: map[string]any{
				"id": name, "output_file_uri": truth.ResultFile,
				"user_metadata": map[string]any{"correlation": "one"},
			},
		}
		if diff := cmp.Diff(want, d.Event); diff != "" {
			t.Error(diff)
		}
		if truth.Completion != geminisim.CompletionAccepted || truth.Reached != 1 {
			t.Errorf("truth %+v", truth)
		}
		if run := truth.EndTime.Sub(truth.CreateTime); run < time.Minute || run > 10*time.Minute+time.Second {
			t.Errorf("it ran for %v", run)
		}
	})
}

func TestSpeedDividesDurations(t *testing.T) {
	cfg := geminisim.Config{Speed: 60, RunTime: [2]time.Duration{time.Hour, time.Hour}}
	bubble(t, cfg, nil, func(t *testing.T, sim *geminisim.Sim, _ *receiver, _ string) {
		began := time.Now()
		submit(t, sim, "")
		waitWithin(t, week, sim, over(1))
		if took := time.Since(began).Round(time.Millisecond); took != time.Minute {
			t.Errorf("an hour at 60 took %v", took)
		}
	})
}

func TestRetryUntilAccepted(t *testing.T) {
	answer := func(n int, _ got) (int, error) {
		return []int{503, 500, 302, 404, 0, 204}[n], map[int]error{4: errors.New("connection reset")}[n]
	}
	bubble(t, geminisim.Config{}, answer, func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string) {
		submit(t, sim, "")
		waitWithin(t, week, sim, over(1))
		all := rc.all()
		if len(all) != 6 {
			t.Fatalf("%d attempts, want 6", len(all))
		}
		var gap time.Duration
		for i, d := range all {
			if d.Header.Get("webhook-id") != all[0].Header.Get("webhook-id") || d.Body != all[0].Body {
				t.Errorf("attempt %d differs in id or body", i)
			}
			// The timestamp is the attempt's own, not that of the first one.
			wh := d.Header.Get("webhook-timestamp")
			if i > 0 {
				if now := d.At.Sub(all[i-1].At); now <= gap {
					t.Errorf("the pause before attempt %d is %v, after one of %v", i, now, gap)
				} else {
					gap = now
				}
				if wh == all[i-1].Header.Get("webhook-timestamp") {
					t.Errorf("attempt %d has the timestamp of the one before", i)
				}
			}
			if want := geminisim.Sign(secret, d.Header.Get("webhook-id"), d.At, []byte(d.Body)); d.Header.Get(
				"webhook-signature",
			) != want {
				t.Errorf("attempt %d is signed %s, want %s", i, d.Header.Get("webhook-signature"), want)
			}
		}
		if st := sim.Stats(); st.Retries != 5 || st.Deliveries != 6 || st.Accepted != 1 || st.GaveUp != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestRetryEndsAfterADay(t *testing.T) {
	never := func(int, got) (int, error) { return 503, nil }
	bubble(t, geminisim.Config{}, never, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		submit(t, sim, "")
		waitWithin(t, week, sim, over(1))
		all := rc.all()
		if span := all[len(all)-1].At.Sub(all[0].At); span > 24*time.Hour || span < 22*time.Hour {
			t.Errorf("%d attempts over %v", len(all), span)
		}
		if b := sim.Batches()[0]; b.Completion != geminisim.CompletionLost || b.Reached != len(all) ||
			sim.Stats().GaveUp != 1 {
			t.Errorf("%+v %+v", b, sim.Stats())
		}
	})
}

func TestNoEventForCancelled(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		sim.Script("cancelled", geminisim.Script{Final: geminisim.StateCancelled})
		submit(t, sim, "cancelled")
		waitWithin(t, week, sim, over(1))
		if b := sim.Batches()[0]; b.Completion != geminisim.CompletionNone {
			t.Errorf("%+v", b)
		}
		if len(rc.all()) != 0 {
			t.Errorf("delivered %+v", rc.all())
		}
	})
}

func TestFailedAndExpiredEvents(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		sim.Script("f", geminisim.Script{Final: geminisim.StateFailed, RunTime: time.Minute})
		sim.Script("e", geminisim.Script{Final: geminisim.StateExpired, RunTime: time.Hour})
		submit(t, sim, "f")
		submit(t, sim, "e")
		waitWithin(t, week, sim, over(2))
		all := rc.all()
		if len(all) != 2 || all[0].Event.Type != "batch.failed" || all[1].Event.Type != "batch.expired" {
			t.Fatalf("delivered %+v", all)
		}
		if all[0].Event.Data["error_code"] == nil || all[0].Event.Data["error_message"] == nil ||
			all[1].Event.Data["error_code"] != nil {
			t.Errorf("data %v and %v", all[0].Event.Data, all[1].Event.Data)
		}
	})
}

func TestDeliverAnything(t *testing.T) {
	bubble(
		t,
		geminisim.Config{},
		func(int, got) (int, error) { return 401, nil },
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string) {
			sim.Script("held", geminisim.Script{Hold: geminisim.StateRunning})
			name := submit(t, sim, "held")
			other := "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
			old := time.Now().Add(-time.Hour)
			send := func(d geminisim.Delivery) got {
				t.Helper()
				status, body, err := sim.Deliver(t.Context(), d)
				if status != 401 || string(body) != `{"outcome":"applied"}` || err != nil {
					t.Errorf("answer %d %s %v", status, body, err)
				}
				all := rc.all()
				return all[len(all)-1]
			}

			d := send(geminisim.Delivery{Type: "batch.dreaming", Name: "held", EventTime: old})
			verify(t, d, secret)
			if d.Event.Type != "batch.dreaming" || d.Event.Data["id"] != name || !d.Event.Timestamp.Equal(old) {
				t.Errorf("event %+v", d.Event)
			}
			d = send(
				geminisim.Delivery{Body: []byte("no JSON"), ID: "msg_mine", Timestamp: old, Secrets: []string{other, secret}},
			)
			if want := geminisim.Sign(other, "msg_mine", old, []byte("no JSON")) + " " + geminisim.Sign(secret, "msg_mine", old,
				[]byte("no JSON")); d.Body != "no JSON" ||
				d.Header.Get("webhook-signature") != want {
				t.Errorf("delivery %+v", d)
			}
			d = send(geminisim.Delivery{Type: "batch.succeeded", Name: "elsewhere/unknown", Header: http.Header{
				"webhook-signature": {"v1,wrong"}, "webhook-timestamp": nil,
			}})
			if d.Header.Get("webhook-signature") != "v1,wrong" || len(d.Header.Values("webhook-timestamp")) != 0 ||
				d.Event.Data["id"] != "elsewhere/unknown" {
				t.Errorf("delivery %+v", d)
			}
			if _, _, err := sim.Deliver(t.Context(), geminisim.Delivery{}); err == nil {
				t.Error("an empty delivery gives no error")
			}
			if _, _, err := sim.Deliver(t.Context(), geminisim.Delivery{Webhook: "nosuch", Type: "x"}); err == nil {
				t.Error("an unknown webhook gives no error")
			}
		},
	)
}

func TestDeliverNeedsNoWebhook(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }),
	)
	defer srv.Close()
	sim := geminisim.New(geminisim.Config{})
	defer sim.Close()
	status, _, err := sim.Deliver(
		t.Context(), geminisim.Delivery{URL: srv.URL, Secrets: []string{testSecret}, Type: "batch.failed", Name: "abc"},
	)
	if status != http.StatusAccepted || err != nil {
		t.Errorf("%d %v", status, err)
	}
}

func TestCloseLetsAnAttemptHaveItsAnswer(t *testing.T) {
	bubble(t, geminisim.Config{}, func(int, got) (int, error) {
		time.Sleep(time.Second) // the bubble's clock
		return 200, nil
	}, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		sim.Script("now", geminisim.Script{Hold: geminisim.StateRunning})
		submit(t, sim, "now")
		submit(t, sim, "left running")
		settle(t, sim, "now")
		synctest.Wait() // the attempt is in flight
		sim.Close()
		if b := sim.Batches(); b[0].Completion != geminisim.CompletionAccepted || b[1].State != geminisim.StatePending {
			t.Errorf("%+v", b)
		}
		sim.Close()
		submit(t, sim, "too late")
		settle(t, sim, "left running")
		synctest.Wait()
		if n := len(rc.all()); n != 1 {
			t.Errorf("%d attempts after Close", n)
		}
	})
}

// silent is a receiver that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAttemptHasADeadline(t *testing.T) {
	t.Parallel()
	for speed, want := range map[float64]time.Duration{1: 10 * time.Second, 1000: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			sim := geminisim.New(geminisim.Config{Speed: speed, HTTP: &http.Client{Transport: silent{}}})
			defer sim.Close()
			began := time.Now()
			_, _, err := sim.Deliver(t.Context(), geminisim.Delivery{
				URL: "https://receiver.example/", Secrets: []string{testSecret}, Type: "batch.failed",
			})
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != want {
				t.Errorf("at speed %v: %v after %v, want %v", speed, err, took, want)
			}
		})
	}
}

func TestWaitForGivesUp(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{})
	defer sim.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sim.WaitFor(ctx, func(geminisim.Stats) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := sim.SetState("nosuch", geminisim.StateFailed); err == nil {
		t.Error("SetState of an unknown batch gives no error")
	}
	if err := sim.SetWebhookState("nosuch", geminisim.WebhookDisabled); err == nil {
		t.Error("SetWebhookState of an unknown webhook gives no error")
	}
}
