package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// cutOther submits a job whose requests are a part each, and cuts it.
func (w *world) cutOther(r ledger.JobRequest) ledger.Advanced {
	w.Helper()
	_, err := w.ledger().Jobs.Submit(w.ctx, r)
	w.must("Submit", err)
	lease := w.step(r.Key, job.StepSplit)
	j, err := w.ledger().Jobs.Read(w.ctx, r.Key)
	w.must("Read", err)
	var ranges []job.Source
	for i := range r.Input.Requests {
		ranges = append(ranges, job.Source{Object: "i", Offset: i, Length: 1, Requests: 1})
	}
	_, err = w.ledger().Jobs.Cut(w.ctx, lease, j, ranges, true)
	w.must("Cut", err)
	advanced, err := w.ledger().Jobs.Advance(w.ctx, r.Key)
	w.must("Advance", err)
	return advanced
}

func (w *world) batches() ledger.RunningBatches {
	w.Helper()
	s, err := w.ledger().Jobs.Running(w.ctx)
	w.must("Running", err)
	return s
}

// startsOf is how many parts of a job are started, or about to be, of so many.
func (w *world) startsOf(key operation.Key, of int) (n int) {
	w.Helper()
	for number := range of {
		p, _, err := w.ledger().Jobs.Part(w.ctx, operation.PartKey(key, number+1))
		w.must("Part", err)
		if p.State.Running() {
			n++
		}
	}
	return n
}

// flash is the model of the jobs.
const flash = "gemini-3.5-flash"

var jobQuotas = []ledgerTest{
	{"what runs reserves no more tokens of a model than its quota, and gives them back once [J10]", func(w *world) {
		w.settings.EnqueuedTokens = job.Quotas{flash: 3}
		w.submitJob(2, job.Options{}) // each request is a byte, and so a token
		w.cut()
		other := JobRequest(3, job.Options{})
		other.Key, other.Options.Model = "jobs/other", "models/"+flash
		w.cutOther(other)
		equal(w, "starts", w.startsOf(nightly, 2)+w.startsOf(other.Key, 3), 3)
		equal(w, "reserved", w.batches().Reserved(flash), int64(3))
		equal(w, "what it waits for", w.batches().Wants["jobs:other"], ledger.Want{
			For: job.WaitsForTokens, Model: flash, Tokens: 1, Most: 3,
		})
		free := JobRequest(2, job.Options{})
		free.Key, free.Options.Model = "jobs/free", "another"
		w.cutOther(free)
		equal(w, "starts of another model", w.startsOf(free.Key, 2), 2)
		for n := 1; n <= 2; n++ {
			w.startPart(n)
			w.endBatch(n)
			w.collect(n)
			equal(w, "the job that has room", w.advance().Waiting, other.Key)
			_, err := w.ledger().Jobs.Advance(w.ctx, other.Key)
			w.must("Advance", err)
			equal(w, "reserved", w.batches().Reserved(flash), int64(3))
		}
		equal(w, "starts at last", w.startsOf(other.Key, 3), 3)
		equal(w, "wants", len(w.batches().Wants), 0)
	}},
	{"a start that is set aside gives its place to a job that waits, and gets one again [J10]", func(w *world) {
		w.settings.EnqueuedTokens = job.Quotas{flash: 1}
		w.submitJob(1, job.Options{})
		w.cut()
		other := JobRequest(1, job.Options{})
		other.Key = "jobs/other"
		w.cutOther(other)
		p := w.part(1)
		p.Aside = true
		_, err := w.ledger().Jobs.Save(w.ctx, w.step(p.Key, job.StepStart), p)
		w.must("Save", err)
		equal(w, "the job that has room", w.advance().Waiting, other.Key)
		equal(w, "set aside", w.part(1).SetAside(), true)
		_, err = w.ledger().Jobs.Advance(w.ctx, other.Key)
		w.must("Advance", err)
		equal(w, "starts of the other", w.startsOf(other.Key, 1), 1)
		equal(w, "steps while it runs", w.advance().Steps, 0)
		_, err = w.ledger().Jobs.Cancel(w.ctx, other.Key, cancelling)
		w.must("Cancel", err)
		q, _, err := w.ledger().Jobs.Part(w.ctx, operation.PartKey(other.Key, 1))
		w.must("Part", err)
		q.State = job.Planned // as a start that is given up
		w.must("Finish", w.ledger().Effects.Finish(w.ctx, w.step(q.Key, job.StepStart), q.Write()))
		advanced, err := w.ledger().Jobs.Advance(w.ctx, other.Key)
		w.must("Advance", err)
		equal(w, "the job that has room then", advanced.Waiting, nightly)
		equal(w, "steps then", w.advance().Steps, 1)
		equal(w, "set aside at last", w.part(1).SetAside(), false)
		equal(w, "reserved", w.batches().Reserved(flash), int64(1))
	}},
	{"of the jobs that wait those of a higher priority go first", func(w *world) {
		w.settings.MaxBatches = 1
		w.submitJob(2, job.Options{})
		w.cut()
		low, high := JobRequest(1, job.Options{}), JobRequest(1, job.Options{Priority: 1})
		low.Key, high.Key = "jobs/low", "jobs/high"
		w.cutOther(low)
		w.store.Advance(time.Second)
		w.cutOther(high)
		w.startPart(1)
		w.endBatch(1)
		w.collect(1)
		equal(w, "the next", w.advance().Waiting, high.Key)
		for _, key := range []operation.Key{low.Key, high.Key} {
			_, err := w.ledger().Jobs.Advance(w.ctx, key)
			w.must("Advance", err)
		}
		equal(w, "starts", w.startsOf(high.Key, 1), 1)
		equal(w, "starts of the others", w.startsOf(low.Key, 1)+w.startsOf(nightly, 2), 0)
	}},
	{"a batch refused while Gemini has no other is too large, hourly, above 100 requests [J10]", func(w *world) {
		r := JobRequest(1000, job.Options{})
		r.Input.Tokens = 1_000_000
		j := job.Job{Key: nightly, Options: r.Options.WithDefaults(), Input: r.Input}
		large := func(requests int64, want bool) {
			w.Helper()
			p := job.Part{Key: "jobs/nightly/00001", Requests: requests, Bytes: requests}
			got, err := w.ledger().Jobs.TooLarge(w.ctx, j, p)
			w.must("TooLarge", err)
			equal(w, "too large", got, want)
		}
		list := func(listed ...ledger.Listed) {
			w.Helper()
			w.store.Advance(time.Second)
			now, err := w.ledger().Now(w.ctx)
			w.must("Now", err)
			_, err = w.ledger().Jobs.CountListed(w.ctx, now, listed)
			w.must("CountListed", err)
			w.store.Advance(time.Second)
		}
		perBatch := func(want int64) {
			w.Helper()
			allowed, err := w.ledger().Jobs.Allowed(w.ctx, "models/"+flash)
			w.must("Allowed", err)
			equal(w, "per batch", allowed.PerBatch, want)
		}
		list() // read before the refusal, it says nothing
		large(1000, false)
		large(1000, false)
		for _, busy := range []ledger.Listed{{Model: "models/" + flash}, {}, {Model: flash, Doubtful: true}} {
			list(busy)
			large(1000, false)
		}
		list(ledger.Listed{Model: "models/another"})
		large(100, false)
		large(1000, true)
		perBatch(500_000)
		large(501, true) // it is above what is known now
		large(500, false)
		list()
		large(500, false) // within the hour
		w.store.Advance(time.Hour)
		large(500, true)
		perBatch(250_000)
		large(150, false)
		list()
		w.store.Advance(time.Hour)
		large(150, true)
		perBatch(100_000)
		w.store.Advance(7 * day)
		perBatch(0)
		large(1000, false)
		w.store.Advance(-20 * day) // the refusal, and what was halved, are ahead of it now
		list()
		large(1000, false)
		list()
		large(1000, true)
	}},
}
