package steps_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/test/harness"
)

const flash = "gemini-3.5-flash"

// enqueued returns the tokens of the batches that Gemini has unfinished, and the oldest of them.
func (w *world) enqueued() (tokens int64, oldest string) {
	w.Helper()
	for _, b := range w.sim.Batches() {
		if !b.EndTime.IsZero() {
			continue
		}
		if oldest == "" {
			oldest = b.Name
		}
		tokens += int64(b.Requests * (len(requestOf("k0000")) + 1) / 4)
	}
	return tokens, oldest
}

// TestNightAtQuota: a night of small requests, fifteen times what Gemini takes at once, and seven times in the short
// form, ends without a 429, and uses at least nine tenths of the quota as long as work waits [J10].
func TestNightAtQuota(t *testing.T) {
	t.Parallel()
	const quota = 3000
	n := harness.Soak(t, 800, 2000, 2000)
	w := newWorld(t, setting{
		held: true, tokens: job.Quotas{flash: quota}, sim: geminisim.Config{Quotas: geminisim.Quotas{EnqueuedTokens: quota}},
	})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	w.submit(requests(n), job.Options{MaxRequestsPerBatch: 10_000, MaxAttempts: 1})
	used, samples, least := int64(0), int64(0), int64(quota)
	for range 1000 {
		w.drain()
		tokens, oldest := w.enqueued()
		if w.job().Phase != job.Running {
			break
		}
		if waits := w.running().Waiting; len(waits) > 0 {
			used, samples, least = used+tokens, samples+1, min(least, tokens)
		}
		if err := w.sim.SetState(oldest, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Minute)
		w.learn()
	}
	w.settle()
	share := float64(used) / float64(max(samples, 1)*quota)
	t.Logf("%.1f %% of the quota were used in %d samples, at least %d of %d tokens", 100*share, samples, least, quota)
	if share < 0.9 || least < quota*8/10 || samples < int64(n)/20 {
		t.Error("too little is used")
	}
	if j := w.ended(); j.Counts.Done != int64(n) || w.sim.Stats().QuotaRefused > 0 {
		t.Errorf("%+v, %d refusals", j.Counts, w.sim.Stats().QuotaRefused)
	}
	if s := w.running(); len(s.Parts)+len(s.Tokens)+len(s.Waiting)+len(s.Wants) > 0 {
		t.Errorf("J10: the job has ended, and it still counts %+v", s)
	}
}

// TestQuotaUnknown: a batch that alone is above a quota which no setting names is halved, once an hour, until Gemini
// takes it, and that costs no attempt. Without it the 429 would stay for ever.
func TestQuotaUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Quotas: geminisim.Quotas{EnqueuedTokens: 3000}}})
	w.submit(requests(1000), job.Options{MaxRequestsPerBatch: 10_000, MaxAttempts: 1})
	began := w.clock.Now()
	w.settle()
	j := w.ended()
	if j.Counts.Done != 1000 || j.Round != 1 || len(j.Refusals) > 0 {
		t.Errorf("%+v", j)
	}
	allowed, err := w.ledger.Jobs.Allowed(t.Context(), "models/"+flash)
	if whole := j.Tokens(j.Input.Bytes); err != nil || allowed.PerBatch > 3000 || allowed.PerBatch < whole/16 {
		t.Errorf("a batch may have %+v, of %d, %v", allowed, whole, err)
	}
	if took := w.clock.Now().Sub(began); took < 2*time.Hour || took > 6*time.Hour {
		t.Errorf("it took %s", took)
	}
}

// TestQuotaUsedByOthers: while Gemini has another batch of the model, or one that was cancelled two days ago, a refusal
// says nothing about the size of a batch: it waits.
func TestQuotaUsedByOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true, sim: geminisim.Config{
		Quotas: geminisim.Quotas{EnqueuedTokens: 3000}, Faults: geminisim.Faults{CancelledStillCount: 1},
	}})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	other := w.createOthers(1, 100)
	w.submit(requests(110), job.Options{MaxRequestsPerBatch: 10_000, MaxAttempts: 1})
	w.drain()
	for range 30 {
		w.later(10 * time.Minute)
	}
	if err := w.sim.SetState(other, geminisim.StateCancelled); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		w.later(time.Hour)
	}
	allowed, err := w.ledger.Jobs.Allowed(t.Context(), flash)
	if err != nil || allowed.PerBatch > 0 || len(w.parts()) > 1 {
		t.Errorf("%+v, %d parts, %v", allowed, len(w.parts()), err)
	}
	for range 20 {
		w.later(time.Hour)
	}
	if p := w.part(1); p.State != job.Started {
		t.Errorf("two days later the part is %s, and waits for %s", p.State, p.Waits)
	}
}

// TestQuotaLowered: parts that were cut before a quota was set are split, unsent, and none of them is above it.
func TestQuotaLowered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	w.submit(requests(400), job.Options{MaxRequestsPerBatch: 200, MaxBatches: 1, MaxAttempts: 1})
	w.drain()
	w.tokens = job.Quotas{flash: 1000}
	w.begin()
	w.ledger = w.options.Ledger
	end := func() {
		t.Helper()
		if _, oldest := w.enqueued(); oldest != "" {
			if err := w.sim.SetState(oldest, geminisim.StateSucceeded); err != nil {
				t.Fatal(err)
			}
		}
		w.learn()
		w.drain()
	}
	for range 100 {
		end()
		if w.job().Phase != job.Running {
			break
		}
		w.later(interval)
	}
	w.settle()
	for _, p := range w.parts()[2:] {
		if tokens := w.job().Tokens(p.Bytes); p.Batch != "" && tokens > 1000 || p.Round != 1 {
			t.Errorf("part %d has %d tokens, in round %d", p.Number, tokens, p.Round)
		}
	}
	if j := w.ended(); j.Counts.Done != 400 || w.part(2).Creations > 0 || len(w.part(2).Files) > 0 || !w.part(2).TooLarge {
		t.Errorf("%+v, the second part %+v", j.Counts, w.part(2))
	}
}
