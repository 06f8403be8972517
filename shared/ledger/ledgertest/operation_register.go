package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var operationRegister = []ledgerTest{
	{"what a registration adds to a known operation, and what stays, is in the answer [L2]", func(w *world) {
		first := w.registration()
		first.JobKind, first.Metadata = "", `{"a":{"x":1,"y":2},"b":1}`
		for _, c := range []struct {
			name           string
			said           func(*ledger.Registration)
			added, kept    string
			correlationErr bool
		}{
			{"new", func(r *ledger.Registration) { *r = first }, "", "", false},
			{"the same again", func(r *ledger.Registration) { *r = first }, "", "", false},
			{"nothing more", func(r *ledger.Registration) { r.JobKind, r.SubmittedAt = "", time.Time{} }, "", "", false},
			{"more", func(r *ledger.Registration) {
				r.JobKind, r.CorrelationID, r.Metadata = "kind", "c-1", `{"c":1,"a":{"y":2, "x":1}}`
			}, "jobKind correlationId metadata.c", "", false},
			{"otherwise", func(r *ledger.Registration) {
				r.Name.Resource = "projects/p/" + r.Name.Resource
				r.JobKind, r.SubmittedAt, r.CorrelationID = "other", w.start.Add(time.Hour), "c-2"
				r.Metadata = `{"b":"1","a":null,"d":0}`
			}, "metadata.d", "correlationId name submittedAt jobKind metadata.a metadata.b", true},
		} {
			r := w.registration()
			c.said(&r)
			registered, err := w.ledger().Operations.Register(w.ctx, r)
			if err != nil {
				w.Fatal(err)
			}
			equal(w, c.name+": added", strings.Join(registered.Added, " "), c.added)
			equal(w, c.name+": kept", strings.Join(registered.Kept, " "), c.kept)
			equal(w, c.name+": its id is left out", registered.CorrelationErr != nil, c.correlationErr)
		}
		other := w.correlated("c-1")
		other.Name = nameOf(w, "batches/other")
		registered, err := w.ledger().Operations.Register(w.ctx, other)
		if err != nil || !registered.Created || strings.Join(registered.Kept, " ") != "correlationId" {
			w.Errorf("an id that another has: %+v, %v", registered, err)
		}
	}},
	{"an operation that only deliveries named has nothing to keep [W5]", func(w *world) {
		w.ingest(w.event("d1", operation.Running, time.Second))
		r := w.registration()
		r.Name.Resource = "projects/p/" + r.Name.Resource
		registered, err := w.ledger().Operations.Register(w.ctx, r)
		if err != nil || registered.Added != nil || registered.Kept != nil {
			w.Errorf("%+v, %v", registered, err)
		}
	}},
	{"a registration makes the record [L1, L2]", func(w *world) {
		r := w.registration()
		r.Metadata, r.CorrelationID = `{"team":"reviews"}`, "c-1"
		registered, err := w.ledger().Operations.Register(w.ctx, r)
		if err != nil || !registered.Created || registered.Planned != 0 {
			w.Fatalf("%+v, %v", registered, err)
		}
		rec := w.record()
		equal(w, "state", rec.State, operation.Pending)
		equal(w, "registered", rec.Registered, true)
		equal(w, "job kind", rec.JobKind, "test-job")
		equal(w, "metadata", rec.Metadata, r.Metadata)
		equal(w, "correlation id", rec.CorrelationID, "c-1")
		equal(w, "collection", rec.Collection, operation.Batches)
		equal(w, "looked at after the grace [R1]", rec.DueAt.Sub(rec.SubmittedAt), w.settings.Grace)
		equal(w, "the answer's version", registered.Record.Version, rec.Version)
	}},
	{"without a time of submission it is now", func(w *world) {
		r := w.registration()
		r.SubmittedAt = time.Time{}
		registered, err := w.ledger().Operations.Register(w.ctx, r)
		if err != nil {
			w.Fatal(err)
		}
		near(w, "submitted at", registered.Record.SubmittedAt.Sub(w.start), 0)
	}},
	{"the same again writes nothing [L2]", func(w *world) {
		w.register()
		counting := Count(w.store)
		registered, err := w.over(counting).Operations.Register(w.ctx, w.registration())
		if err != nil || registered.Created || registered.Planned != 0 || registered.Record.State != operation.Pending {
			w.Errorf("%+v, %v", registered, err)
		}
		equal(w, "commits", counting.Counts().Commits, 0)
	}},
	{"a second registration adds and never changes", func(w *world) {
		r := w.registration()
		r.JobKind, r.Metadata = "", `{"a":1}`
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		r.JobKind, r.Metadata, r.SubmittedAt = "kind", `{"a":2,"b":3}`, w.start.Add(time.Hour)
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		r.JobKind, r.Metadata = "other kind", ""
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		rec := w.record()
		equal(w, "job kind", rec.JobKind, "kind")
		equal(w, "metadata", rec.Metadata, `{"a":1,"b":3}`)
		equal(w, "submitted at", rec.SubmittedAt, w.start)
	}},
	{"metadata that is none, or too much, is refused", func(w *world) {
		r := w.registration()
		refused := func(metadata operation.Metadata) {
			w.Helper()
			r.Metadata = metadata
			if _, err := w.ledger().Operations.Register(w.ctx, r); !errors.Is(err, operation.ErrSubmission) {
				w.Errorf("Register with %.9q: %v, want ErrSubmission", metadata, err)
			}
		}
		refused("{")
		equal(w, "registered", w.record().Registered, false)
		half := strings.Repeat("x", operation.MaxMetadataBytes/2)
		r.Metadata = operation.Metadata(`{"a":"` + half + `"}`)
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		refused(operation.Metadata(`{"b":"` + half + `"}`))
		equal(w, "bytes of metadata", len(w.record().Metadata), len(half)+len(`{"a":""}`))
	}},
	{"registering late plans what is known, in the same commit [W5]", func(w *world) {
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		w.published()
		counting := Count(w.store)
		registered, err := w.over(counting).Operations.Register(w.ctx, w.registration())
		if err != nil || registered.Created || registered.Planned != 1 {
			w.Fatalf("%+v, %v", registered, err)
		}
		if n := counting.Counts(); n.Commits != 1 || n.Writes != 2 {
			w.Errorf("%d commits of %d writes, want one of record and effect", n.Commits, n.Writes)
		}
		w.plannedOnce()
		w.finish(w.granted(publish))
		if again := w.register(); again.Planned != 0 {
			w.Errorf("registering again planned %d", again.Planned)
		}
		equal(w, "the effect", w.claim(publish).Verdict, ledger.Done)
		w.published()
	}},
	{"the submitter knows the full name [K5]", func(w *world) {
		w.ingest(w.event("d1", operation.Running, time.Second))
		r := w.registration()
		r.Name = nameOf(w, "projects/p/locations/us/batches/abc-123")
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		equal(w, "name", w.record().Name, "projects/p/locations/us/batches/abc-123")
		equal(w, "state", w.record().State, operation.Running)
		w.ingest(w.event("d2", operation.Running, time.Minute))
		equal(w, "name after another delivery", w.record().Name, "projects/p/locations/us/batches/abc-123")
	}},
	{"a submitter's clock that runs ahead postpones no look-up [R1]", func(w *world) {
		before := w.now()
		r := w.registration()
		r.SubmittedAt = before.Add(time.Hour)
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		rec := w.record()
		equal(w, "submitted at", rec.SubmittedAt, r.SubmittedAt)
		earliest, latest := before.Add(w.settings.Grace), w.now().Add(w.settings.Grace)
		if rec.DueAt.Before(earliest) || rec.DueAt.After(latest) {
			w.Errorf("due at %v, want a grace after the registration, at %v", rec.DueAt, latest)
		}
	}},
	{"a submitter's clock that runs ahead postpones no alert [R4]", func(w *world) {
		w.settings.StuckAfter = time.Hour
		r := w.registration()
		r.SubmittedAt = w.now().Add(24 * time.Hour)
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		due, now := w.stuck()
		if age := now.Sub(w.record().CreatedAt); age > w.settings.StuckAfter+w.settings.Interval {
			w.Errorf("stuck %v after the registration", age)
		}
		p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
		equal(w, "postponing", err, nil)
		equal(w, "alert", p.Stuck && p.Alert, true)
	}},
	{"a rule may list job kinds", func(w *world) {
		w.settings.Rules[0].JobKinds = []string{"review-*"}
		w.register()
		equal(w, "planned for another kind", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Planned, 0)
		w.name = nameOf(w, "batches/reviewed")
		r := w.registration()
		r.JobKind = "review-classify"
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		equal(w, "planned for its kind", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Planned, 1)
		if payload := w.effect(publish).Payload; !strings.Contains(payload, "review-classify") {
			w.Errorf("the payload does not say the job kind: %s", payload)
		}
	}},
}
