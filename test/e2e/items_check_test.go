package e2e

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// takeStock checks what a killed process left behind.
func (r *itemRun) takeStock() {
	r.t.Helper()
	var report []string
	for kind, name := range map[string]string{"published": "publish", "stored": "store"} {
		said := r.record(r.batch[kind]).Progress[name] // before: it may be a second behind, never ahead
		p := r.progress(r.batch[kind], name)
		if p.Waiting() != int64(len(r.wantedOf(r.batch[kind], name).waiting)) || p.Next > 0 && p.Total != r.items {
			r.t.Errorf("the progress of %s does not add up: %+v", name, p)
		}
		if said.Done > p.Done || said.Failed > p.Failed || said.Done > 0 && said.Total != p.Total {
			r.t.Errorf("the record says %+v of %s, the effect %+v", said, name, p)
		}
		report = append(report, fmt.Sprintf("%s %d", name, p.Next))
	}
	unrecorded := r.sink.unrecorded(r.wantedOf(r.batch["published"], "publish"))
	if unrecorded > itemChunk {
		r.t.Errorf("%d items were performed and not recorded, more than a chunk", unrecorded)
	}
	slices.Sort(report)
	r.t.Logf("killed with %d items performed and not recorded, items recorded: %v", unrecorded, report)
}

func (r *itemRun) get(paths ...ledger.Path) []ledger.Document {
	r.t.Helper()
	snapshot, err := r.backend.store().Get(r.t.Context(), paths...)
	if err != nil {
		r.t.Fatal(err)
	}
	return snapshot.Documents
}

func (r *itemRun) effectOf(key operation.Key, name string) (e ledger.Effect) {
	r.t.Helper()
	if doc := r.get(ledger.EffectPath(key, name))[0]; doc.Exists() {
		if err := doc.Decode(&e); err != nil {
			r.t.Fatal(err)
		}
	}
	return e
}

// isEnded reports whether an effect is in the state that it is to end in; in the other it must not.
func (r *itemRun) isEnded(key operation.Key, name string, in ledger.EffectState) bool {
	r.t.Helper()
	e := r.effectOf(key, name)
	if e.State != in && (e.State == ledger.EffectDead || e.State == ledger.EffectDone) {
		r.t.Fatalf("%s is %s after %d claims: %s", name, e.State, e.Fence, e.LastError)
	}
	return e.State == in
}

// checkFailed checks that the bad item, and no other, is FAILED, and that what Gemini said of it is kept.
func (r *itemRun) checkFailed() {
	r.t.Helper()
	failed, err := r.ledger().Items.Failed(r.t.Context(), r.batch["published"], "publish", ledger.Cursor{}, 10)
	if err != nil || len(failed.Items) != 1 {
		r.t.Fatalf("FAILED are %+v: %v", failed, err)
	}
	if item := failed.Items[0]; item.Index != badItem || item.Key != itemKey(badItem) ||
		item.Response+item.Error == "" ||
		!item.ExpireAt.IsZero() {
		r.t.Errorf("FAILED is %+v", item)
	}
}

func (r *itemRun) progress(key operation.Key, name string) (p ledger.ItemProgress) {
	r.t.Helper()
	if e := r.effectOf(key, name); e.Progress != nil {
		p = *e.Progress
	}
	return p
}

// wantedOf returns which items of an effect are still to be done: the result comes in one order here.
func (r *itemRun) wantedOf(key operation.Key, name string) wantedItems {
	r.t.Helper()
	w := wantedItems{from: r.progress(key, name).Next, waiting: map[int64]bool{}}
	page, err := r.ledger().Items.Waiting(r.t.Context(), key, name, ledger.Cursor{}, int(r.items))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, item := range page.Items {
		w.waiting[item.Index] = true
	}
	return w
}

func (r *itemRun) record(key operation.Key) (rec operation.Record) {
	r.t.Helper()
	if err := r.get(ledger.OperationPath(key))[0].Decode(&rec); err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// checkEnds checks an effect that has ended: the kills cost it claims, but no attempt, since each process came further.
func (r *itemRun) checkEnds(key operation.Key, name string, want operation.Progress) {
	r.t.Helper()
	if got := r.record(key).Progress[name]; got != want {
		r.t.Errorf("progress of %s: %+v, want %+v", name, got, want)
	}
	// each in the middle of a claim of the one that is published; the other may have been between two
	killed := int64(r.kills)
	if name != "publish" {
		killed = 1
	}
	if e := r.effectOf(key, name); e.Fence <= killed || e.Attempts >= r.kills || !e.DueAt.IsZero() {
		r.t.Errorf("after %d kills %s has the fence %d and %d attempts, and is due at %v", r.kills, name,
			e.Fence, e.Attempts, e.DueAt)
	}
}

// checkItems holds every item against what reached the receiver, and what was written back.
func (r *itemRun) checkItems() {
	r.t.Helper()
	const page = 500
	for from := int64(0); from < r.items; from += page {
		var paths []ledger.Path
		for i := from; i < min(from+page, r.items); i++ {
			key := itemKey(i)
			paths = append(paths, ledger.ItemPath(r.batch["published"], "publish", key),
				ledger.ItemPath(r.batch["stored"], "store", key),
				ledger.ResultPath("reviews", r.batch["stored"], key))
		}
		docs := r.get(paths...)
		for i := from; i < min(from+page, r.items); i++ {
			var published, stored ledger.Item
			var result results.ItemResult
			for at, into := range []any{&published, &stored, &result} {
				if err := docs[3*(i-from)+int64(at)].Decode(into); err != nil {
					r.t.Fatalf("item %d: %v", i, err)
				}
			}
			if published.State != ledger.ItemDone || published.Attempts < 1 || !r.sink.took(i) {
				r.t.Errorf("item %d is %s, and that it was taken is %v", i, published.State, r.sink.took(i))
			}
			if stored.State != ledger.ItemDone || stored.Attempts != 1 || result.Index != i ||
				(result.Response == "") == (result.Error == "") {
				r.t.Errorf("item %d was recorded %d times as %s, its result is %.100v", i, stored.Attempts,
					stored.State, result)
			}
		}
	}
}

// checkRepeats holds what was repeated against what the ledger knew, and what the processes say.
func (r *itemRun) checkRepeats() {
	r.t.Helper()
	problems, repeats, again := r.sink.audit()
	for _, problem := range problems {
		r.t.Error(problem)
	}
	for _, p := range r.processes() {
		said := p.about(string(r.batch["published"]))
		if again[p.id] > 0 && !slices.Contains(said, "lease-lost") && !slices.Contains(said, "failed") {
			r.t.Errorf("%s repeated %d items that had been taken from it: %v", p.id, again[p.id], said)
		}
		if len(p.noise) > 0 {
			r.t.Errorf("%s said what is no log:\n%s", p.id, strings.Join(p.noise, "\n"))
		}
	}
	r.t.Logf("%d of %d items were repeated", repeats, r.items)
}

// checkMemory compares the processes that read through the results with the first, which did not
// get beyond a tenth of them.
func (r *itemRun) checkMemory() {
	if runtime.GOOS != "linux" {
		r.t.Log("how much memory a process has had is asked of Linux only")
		return
	}
	var all []string
	for n := range r.kills + 1 {
		id := fmt.Sprint("a", n+1)
		all = append(all, fmt.Sprint(r.peaks[id]>>20))
		if r.peaks[id] > 2*r.peaks["a1"] {
			r.t.Errorf("%s had %d MiB, the first process %d", id, r.peaks[id]>>20, r.peaks["a1"]>>20)
		}
	}
	r.t.Logf("two results of %d items of %d KiB: at most %s MiB resident in the processes one after the other",
		r.items, itemBytes>>10, strings.Join(all, ", "))
}
