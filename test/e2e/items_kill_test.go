package e2e

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

const (
	itemBytes = 4 << 10 // of each response, about
	itemChunk = 100     // items that one commit records at most
	badItem   = 16      // its receiver refuses it for good
)

// TestItemsSIGKILL: a process that performs an effect for each of some thousand items, and writes
// as many of another batch back to the ledger's store, is killed with SIGKILL some times, spread
// over the items. It goes on where the ledger is: no item that the ledger knows is performed again,
// at most a chunk is repeated, with the same key and bytes, none is lost, and what is written back
// is written once [K4, S2, S6]. One bad item stops none of the others, and a replay performs it
// alone, with the same key and bytes [S4, G5]. The kills do not use up the effect's attempts, and a
// process that reads through the whole result needs no more memory than the first, which reads a
// part of it.
func TestItemsSIGKILL(t *testing.T) {
	t.Parallel()
	r := newItemRun(t)
	p := r.begin()
	r.submit(p.url())
	for range r.kills {
		r.awaitKill(p)
		r.takeStock()
		p = r.begin()
	}
	published, stored := r.batch["published"], r.batch["stored"]
	r.within(5*time.Minute, "both effects have ended", func() bool {
		return r.isEnded(published, "publish", ledger.EffectDead) && r.isEnded(stored, "store", ledger.EffectDone)
	})
	r.checkEnds(published, "publish", operation.Progress{Done: r.items - 1, Failed: 1, Total: r.items})
	r.checkEnds(stored, "store", operation.Progress{Done: r.items, Total: r.items})
	r.checkFailed()
	r.sink.fix()
	call{what: "replaying", path: "/effects", body: push(string(published), "publish"), status: 200}.make(t, p.url())
	r.within(patience, "the bad item is done",
		func() bool { return r.isEnded(published, "publish", ledger.EffectDone) })
	r.peaks[p.id] = p.peak(r.t)
	r.endGently()
	want := operation.Progress{Done: r.items, Total: r.items}
	if got := r.record(published).Progress["publish"]; got != want {
		t.Errorf("after the replay: %+v, want %+v", got, want)
	}
	r.checkItems()
	r.checkRepeats()
	r.checkMemory()
}

// An itemRun is a fleet of one instance, whose test starts it again itself: in between it looks at the ledger.
type itemRun struct {
	*fleet
	items  int64
	kills  int
	binary string
	door   *httptest.Server
	files  *itemFiles
	server *httptest.Server
	sink   *itemSink
	batch  map[string]operation.Key // by the job kind, which chooses the effect
	peaks  map[string]int64         // most resident bytes, by process
}

func newItemRun(t *testing.T) *itemRun {
	r := &itemRun{
		items: harness.Soak[int64](t, 2000, 10_000, 100_000), kills: harness.Soak(t, 3, 10, 10),
		batch: map[string]operation.Key{}, peaks: map[string]int64{},
	}
	r.fleet = newFleet(t, inFile(t), 1,
		geminisim.Config{Seed: 5, Speed: 1000, Faults: geminisim.Faults{FailedItems: 0.01}})
	gone := make(chan struct{})
	close(gone) // only the test starts it again
	r.instances[0].gone = gone
	r.sink = newItemSink(r.items, r.kills, r.strike)
	r.files = &itemFiles{gemini: r.sim.Handler(), sink: r.sink, lines: map[string][][]byte{}}
	r.door, r.server = httptest.NewServer(r.files), httptest.NewServer(r.sink)
	r.binary = binaryAsReleased(t)
	t.Cleanup(func() {
		r.end()
		r.door.Close()
		r.server.Close()
	})
	return r
}

// binaryAsReleased returns the path of an opledger without the race detector, whose memory is many times the program's.
func binaryAsReleased(t *testing.T) string {
	t.Helper()
	if !raceEnabled {
		return binary(t)
	}
	built := filepath.Join(binDir, "opledger-as-released")
	if err := harness.Build("", module+"scripts/opledger", built); err != nil {
		t.Fatal(err)
	}
	return built
}

// begin starts the next process and waits until it serves.
func (r *itemRun) begin() *process {
	r.t.Helper()
	i := r.instances[0]
	p := newProcess(fmt.Sprint("a", len(i.runs)+1))
	p.command = exec.Command(r.binary, "serve", "--port", "0")
	p.command.Env = slices.Concat(r.variables(p.id), []string{
		"TMPDIR=" + os.TempDir(), "OPLEDGER_SERVE_TOKEN=none",
		"GOOGLE_GEMINI_BASE_URL=" + r.door.URL,
		"OPLEDGER_INTERVAL=500ms",
		fmt.Sprintf(`OPLEDGER_EFFECTS=[
			{name: publish, on: [SUCCEEDED], jobKinds: [published], do: http, url: %q, each: item},
			{name: store, on: [SUCCEEDED], jobKinds: [stored], do: results, collection: reviews}]`, r.server.URL+sinkPath+p.id),
	})
	r.sink.expect(p.id, r.wantedOf(r.batch["published"], "publish"))
	if err := p.start(p.said, p.logged); err != nil {
		r.t.Fatal(err)
	}
	i.mu.Lock()
	i.runs = append(i.runs, p)
	i.mu.Unlock()
	r.within(patience, "the process is ready", func() bool { return p.url() != "" })
	return p
}

// submit starts and registers the two batches, and lets them end.
func (r *itemRun) submit(url string) {
	r.t.Helper()
	for _, kind := range []string{"published", "stored"} {
		r.sim.Script(kind, geminisim.Script{Hold: geminisim.StateRunning, Items: int(r.items)})
		name, err := r.fleet.submit(kind)
		if err != nil {
			r.t.Fatal(err)
		}
		call{
			what: "registering", path: "/register", status: 201,
			body: fmt.Sprintf(`{"name":%q,"jobKind":%q}`, name, kind),
		}.make(
			r.t,
			url,
		)
		r.batch[kind] = operation.Key(name)
	}
	r.sink.receive(r.batch["published"])
	r.files.pace(r.batch["stored"])
	for _, key := range r.batch {
		if err := r.sim.SetState(string(key), geminisim.StateSucceeded); err != nil {
			r.t.Fatal(err)
		}
	}
}

// strike kills a process, after a look at its memory.
func (r *itemRun) strike(id string) {
	p := r.find(id)
	r.peaks[p.id] = p.peak(r.t)
	p.kill()
}

func (r *itemRun) awaitKill(p *process) {
	r.t.Helper()
	limit := time.After(5 * time.Minute)
	select {
	case <-r.sink.struck:
	case <-limit:
		r.t.Fatalf("%s is not at its next kill: %s", p.id, p.tail())
	}
	select {
	case <-p.done:
	case <-limit:
		r.t.Fatalf("%s does not die", p.id)
	}
	if !p.wasKilled() {
		r.t.Fatalf("%s ended by itself: %v\n%s", p.id, p.err, p.tail())
	}
}
