package geminisim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// listAll reads every page, two batches at a time, and makes a batch between two pages.
func listAll(t *testing.T, client *genai.Client) (names []string) {
	t.Helper()
	page, err := client.Batches.List(t.Context(), &genai.ListBatchJobsConfig{PageSize: 2})
	for ; err == nil; page, err = page.Next(t.Context()) {
		for _, job := range page.Items {
			if job.DisplayName != "in between" {
				names = append(names, job.DisplayName)
			}
		}
		create(t, client, "in between")
	}
	if !errors.Is(err, genai.ErrPageDone) {
		t.Fatal(err)
	}
	return names
}

func TestShuffledList(t *testing.T) {
	t.Parallel()
	_, client, _ := serve(t, geminisim.Config{ShuffleLists: true})
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprint("job-", i))
		create(t, client, want[i])
	}
	first, second := listAll(t, client), listAll(t, client)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("a batch changed its place: %s", diff)
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	if slices.Equal(first, want) || slices.Equal(first, newest) {
		t.Errorf("not shuffled: %v", first)
	}
	slices.Sort(first)
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("listed %s", diff)
	}
}

func TestListCarriesWhatGetDoes(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	for _, state := range []geminisim.State{geminisim.StateRunning, geminisim.StateSucceeded, geminisim.StateFailed} {
		sim.Script(string(state), geminisim.Script{Hold: state})
		job := create(t, client, string(state))
		var list struct{ Operations []map[string]any }
		var got map[string]any
		if err := json.Unmarshal(call(t, sim, "GET", "/v1beta/batches", "").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(call(t, sim, "GET", "/v1beta/"+job.Name, "").Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, list.Operations[0]); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
		meta := got["metadata"].(map[string]any)
		for _, field := range []string{"displayName", "createTime", "updateTime", "state", "batchStats"} {
			if meta[field] == nil {
				t.Errorf("%s has no %s", state, field)
			}
		}
		if (got["error"] != nil) != (state == geminisim.StateFailed) {
			t.Errorf("%s: error %v", state, got["error"])
		}
	}
}

// Batches were seen whose get failed for days while the list showed them.
func TestGetFailsForEverWhileListWorks(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	for _, name := range []string{"stuck", "other"} {
		sim.Script(name, geminisim.Script{Hold: geminisim.StateSucceeded})
		create(t, client, name)
	}
	late := geminisim.ErrorAnswer(504, "Deadline expired before operation could complete.")
	late.Times = -1
	sim.AnswerNext(geminisim.OpGet, "stuck", geminisim.ErrorAnswer(503, "later"), late)
	infos := sim.Batches()
	for i := range 20 {
		_, err := client.Batches.Get(t.Context(), infos[0].Name, nil)
		if i == 0 {
			wantAPIError(t, err, 503, "UNAVAILABLE")
		} else {
			wantAPIError(t, err, 504, "DEADLINE_EXCEEDED")
		}
	}
	if _, err := client.Batches.Get(t.Context(), infos[1].Name, nil); err != nil {
		t.Error(err)
	}
	list, err := client.Batches.List(t.Context(), nil)
	if err != nil || len(list.Items) != 2 || list.Items[1].State != genai.JobStateSucceeded {
		t.Errorf("%+v %v", list, err)
	}
	if st := sim.Stats(); st.BatchGets != 21 || st.BatchLists != 1 || st.Creates != 2 || st.VideoGets != 0 ||
		st.InteractionGets != 0 ||
		st.APIRequests != 24 {
		t.Errorf("%+v", st)
	}
}

func TestAnswerOfTheNextCreateIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op     geminisim.Op
		create func(client *genai.Client) error
		truth  func(*geminisim.Sim) []geminisim.OperationInfo
	}{
		"batch": {geminisim.OpCreate, func(client *genai.Client) error {
			_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: "files/x"}, nil)
			return err
		}, (*geminisim.Sim).Batches},
		"video": {geminisim.OpVideoCreate, func(client *genai.Client) error {
			_, err := client.Models.GenerateVideosFromSource(t.Context(), "veo", &genai.GenerateVideosSource{Prompt: "p"}, nil)
			return err
		}, (*geminisim.Sim).Videos},
		"interaction": {geminisim.OpInteractionCreate, func(client *genai.Client) error {
			_, err := interact(t, client, "p")
			return err
		}, (*geminisim.Sim).Interactions},
	} {
		sim, client, _ := serve(t, geminisim.Config{})
		sim.AnswerNext(c.op, "", geminisim.LostAnswer())
		if err := c.create(client); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := c.create(client); err != nil {
			t.Errorf("%s: the create after it: %v", name, err)
		}
		dropped := geminisim.Answer{Perform: true, Drop: true}
		sim.AnswerNext(c.op, "", dropped)
		if err := c.create(client); err == nil {
			t.Errorf("%s: no error from a broken connection", name)
		}
		if n := len(c.truth(sim)); n != 3 || sim.Stats().Creates != 3 {
			t.Errorf("%s: %d made, %+v", name, n, sim.Stats())
		}
	}
}

func TestListNewestFirstInPages(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	empty, err := client.Batches.List(t.Context(), nil)
	if err != nil || len(empty.Items) != 0 {
		t.Fatalf("empty list: %+v, %v", empty, err)
	}
	var want []string
	for i := range 7 {
		name := fmt.Sprint("job-", i)
		sim.Script(name, geminisim.Script{Hold: geminisim.StateRunning})
		want = append([]string{name}, want...)
		create(t, client, name)
	}
	page, err := client.Batches.List(t.Context(), &genai.ListBatchJobsConfig{PageSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	sizes, got := []int{}, []string{}
	for {
		sizes = append(sizes, len(page.Items))
		for _, job := range page.Items {
			got = append(got, job.DisplayName)
		}
		create(t, client, "in between") // moves no page
		if page, err = page.Next(t.Context()); errors.Is(err, genai.ErrPageDone) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{3, 3, 1}, sizes); diff != "" {
		t.Error(diff)
	}
}
