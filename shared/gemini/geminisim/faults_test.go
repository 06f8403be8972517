package geminisim_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestLost(t *testing.T) {
	bubble(
		t,
		geminisim.Config{Faults: geminisim.Faults{Lost: 1}},
		nil,
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
			submit(t, sim, "")
			waitWithin(t, week, sim, over(1))
			if b := sim.Batches()[0]; b.Completion != geminisim.CompletionLost || b.Reached != 0 || sim.Stats().Lost != 1 ||
				len(rc.all()) != 0 {
				t.Errorf("%+v %+v", b, sim.Stats())
			}
		},
	)
}

func TestScriptedFaultsAreTheBatchsOwn(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, _ *receiver, _ string) {
		sim.Script("unlucky", geminisim.Script{Faults: &geminisim.Faults{Lost: 1}})
		submit(t, sim, "unlucky")
		submit(t, sim, "lucky")
		waitWithin(t, week, sim, over(2))
		if b := sim.Batches(); b[0].Completion != geminisim.CompletionLost ||
			b[1].Completion != geminisim.CompletionAccepted {
			t.Errorf("%+v", b)
		}
	})
}

func TestRepeated(t *testing.T) {
	faults := geminisim.Faults{Repeated: 1, RepeatedWithin: time.Hour}
	bubble(t, geminisim.Config{Faults: faults}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string) {
		for range 10 {
			submit(t, sim, "")
		}
		waitWithin(t, week, sim, over(10))
		byID := map[string][]got{}
		for _, d := range rc.all() {
			byID[d.Header.Get("webhook-id")] = append(byID[d.Header.Get("webhook-id")], d)
		}
		if len(byID) != 10 {
			t.Errorf("%d ids, want one for each completion", len(byID))
		}
		for id, ds := range byID {
			if len(ds) < 2 || len(ds) > 4 {
				t.Errorf("%s was delivered %d times", id, len(ds))
			}
			for _, d := range ds {
				if d.Body != ds[0].Body || d.At.Sub(ds[0].At) > time.Hour {
					t.Errorf("a repeat of %s after %v: %s", id, d.At.Sub(ds[0].At), d.Body)
				}
				if d.Header.Get("webhook-signature") != geminisim.Sign(secret, id, d.At, []byte(d.Body)) {
					t.Errorf("a repeat of %s is not signed for its own time", id)
				}
			}
		}
		if st := sim.Stats(); st.Repeated != st.Accepted-10 {
			t.Errorf("%+v", st)
		}
	})
}

func TestLate(t *testing.T) {
	faults := geminisim.Faults{Late: 1, LateBy: time.Hour}
	bubble(t, geminisim.Config{Faults: faults}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		submit(t, sim, "")
		waitWithin(t, week, sim, over(1))
		d := rc.all()[0]
		if late := d.At.Sub(sim.Batches()[0].UpdateTime); late <= 0 || late > time.Hour || sim.Stats().Late != 1 {
			t.Errorf("late by %v, %+v", late, sim.Stats())
		}
		if !d.Event.Timestamp.Equal(sim.Batches()[0].UpdateTime) {
			t.Errorf("the event says %v, its state was reached at %v", d.Event.Timestamp, sim.Batches()[0].UpdateTime)
		}
	})
}

func TestReordered(t *testing.T) {
	// The completion fails at first, and is still in front.
	answer := func(n int, _ got) (int, error) { return map[bool]int{true: 503, false: 200}[n < 3], nil }
	bubble(
		t,
		geminisim.Config{Faults: geminisim.Faults{Reordered: 1}},
		answer,
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string) {
			submit(t, sim, "")
			waitWithin(t, week, sim, over(1))
			all := rc.all()
			if len(all) != 5 || all[3].Event.Type != "batch.succeeded" || all[4].Event.Type != "batch.running" {
				t.Fatalf("delivered %+v", all)
			}
			done, running := all[3], all[4]
			verify(t, running, secret)
			if !running.Event.Timestamp.Before(done.Event.Timestamp) ||
				running.Header.Get("webhook-id") == done.Header.Get("webhook-id") {
				t.Errorf("progress %+v after completion %+v", running, done)
			}
			if sim.Stats().Reordered != 1 {
				t.Errorf("%+v", sim.Stats())
			}
		},
	)
}

func TestReorderedWithoutACompletion(t *testing.T) {
	bubble(
		t,
		geminisim.Config{Faults: geminisim.Faults{Reordered: 1, Lost: 1}},
		nil,
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
			sim.Script("c", geminisim.Script{Final: geminisim.StateCancelled})
			submit(t, sim, "c")
			submit(t, sim, "lost")
			waitWithin(t, week, sim, over(2))
			for _, d := range rc.all() {
				if d.Event.Type != "batch.running" {
					t.Errorf("delivered %s", d.Body)
				}
			}
			if len(rc.all()) != 2 {
				t.Errorf("%d deliveries", len(rc.all()))
			}
		},
	)
}

func TestBareIDs(t *testing.T) {
	bubble(
		t,
		geminisim.Config{Faults: geminisim.Faults{BareIDs: 0.5}},
		nil,
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
			names := map[string]bool{}
			for range 20 {
				names[submit(t, sim, "")] = true
			}
			waitWithin(t, week, sim, over(20))
			bare := 0
			for _, d := range rc.all() {
				id := d.Event.Data["id"].(string)
				switch {
				case names["batches/"+id]:
					bare++
				case !names[id]:
					t.Errorf("id %q is no batch's", id)
				}
			}
			if bare < 3 || bare > 17 {
				t.Errorf("%d of 20 ids are bare", bare)
			}
		},
	)
}

// story runs n batches under the harsh plan and returns all events, sorted.
func story(t *testing.T, seed uint64, n int, concurrently bool) []string {
	t.Helper()
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		sim := geminisim.New(geminisim.Config{Seed: seed, Faults: geminisim.Harsh(), HTTP: rc.client()})
		defer sim.Close()
		register(t, sim)
		var wg sync.WaitGroup
		for range n {
			create := func() {
				call(t, sim, "POST", "/v1beta/models/m:batchGenerateContent", `{"batch":{"inputConfig":{"fileName":"files/x"}}}`)
			}
			if concurrently {
				wg.Go(create)
			} else {
				create()
			}
		}
		wg.Wait()
		waitWithin(t, week, sim, over(n))
		for _, b := range sim.Batches() {
			lines = append(lines, fmt.Sprintf("%+v", b))
		}
		for _, d := range rc.all() {
			lines = append(lines, fmt.Sprint(d.At, d.Header, d.Body))
		}
		lines = append(lines, fmt.Sprintf("%+v", sim.Stats()))
	})
	slices.Sort(lines) // attempts of one instant come in any order
	return lines
}

func TestSameSeedSameStory(t *testing.T) {
	t.Parallel()
	first := story(t, 42, 60, false)
	if diff := cmp.Diff(first, story(t, 42, 60, false)); diff != "" {
		t.Errorf("the same seed tells two stories: %s", diff)
	}
	if diff := cmp.Diff(first, story(t, 42, 60, true)); diff != "" {
		t.Errorf("concurrency changes the story: %s", diff)
	}
	if slices.Equal(first, story(t, 43, 60, false)) {
		t.Error("two seeds tell the same story")
	}
}

func TestHarshShares(t *testing.T) {
	bubble(
		t,
		geminisim.Config{Seed: 5, Faults: geminisim.Harsh()},
		nil,
		func(t *testing.T, sim *geminisim.Sim, _ *receiver, _ string) {
			const n = 400
			for range n {
				call(t, sim, "POST", "/v1beta/models/m:batchGenerateContent", `{"batch":{"inputConfig":{"fileName":"files/x"}}}`)
			}
			waitWithin(t, week, sim, over(n))
			states, completions := map[geminisim.State]int{}, map[geminisim.Completion]int{}
			for _, b := range sim.Batches() {
				states[b.State]++
				completions[b.Completion]++
			}
			// Expected 40, 40, 20 and 300; 360 completions, of them 108 lost.
			if states[geminisim.StateFailed] < 20 || states[geminisim.StateCancelled] < 20 ||
				states[geminisim.StateExpired] < 8 ||
				states[geminisim.StateSucceeded] < 250 ||
				len(states) != 4 {
				t.Errorf("states %v", states)
			}
			want := map[geminisim.Completion]bool{
				geminisim.CompletionNone:     true,
				geminisim.CompletionAccepted: true,
				geminisim.CompletionLost:     true,
			}
			if got := slices.Collect(maps.Keys(completions)); len(got) != len(want) ||
				completions[geminisim.CompletionLost] < 70 ||
				completions[geminisim.CompletionLost] > 150 ||
				completions[geminisim.CompletionNone] != states[geminisim.StateCancelled] {
				t.Errorf("completions %v", completions)
			}
		},
	)
}
