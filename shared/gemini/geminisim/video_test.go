package geminisim_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// film makes a video through the SDK, with user metadata.
func film(t *testing.T, client *genai.Client, prompt string) *genai.GenerateVideosOperation {
	t.Helper()
	op, err := client.Models.GenerateVideosFromSource(t.Context(), "veo-3.1-generate-preview",
		&genai.GenerateVideosSource{Prompt: prompt}, &genai.GenerateVideosConfig{
			WebhookConfig: &genai.WebhookConfig{UserMetadata: map[string]any{"correlation": prompt}},
		})
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func TestVideoThroughSDK(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	for _, c := range []struct {
		state                     geminisim.State
		videos, filtered, errCode int
	}{
		{geminisim.VideoSucceeded, 1, 0, 0},
		{geminisim.VideoFailed, 0, 0, 13},
		{geminisim.VideoFiltered, 0, 1, 0},
		{geminisim.VideoEmpty, 0, 0, 0},
	} {
		prompt := string(c.state)
		sim.Script(prompt, geminisim.Script{Hold: geminisim.VideoRunning})
		op := film(t, client, prompt)
		if !strings.HasPrefix(op.Name, "models/veo-3.1-generate-preview/operations/") || op.Done {
			t.Errorf("created %+v", op)
		}
		got, err := client.Operations.GetVideosOperation(t.Context(), &genai.GenerateVideosOperation{Name: op.Name}, nil)
		if err != nil || got.Name != op.Name || got.Done || got.Response != nil || got.Error != nil || got.Metadata != nil {
			t.Errorf("running %+v, %v", got, err)
		}
		if err := sim.SetState(op.Name, c.state); err != nil {
			t.Fatal(err)
		}
		got, err = client.Operations.GetVideosOperation(t.Context(), op, nil)
		if err != nil || !got.Done || got.Metadata != nil {
			t.Fatalf("%s: %+v, %v", c.state, got, err)
		}
		if c.errCode != 0 {
			if got.Error["code"] != float64(c.errCode) || got.Error["message"] == "" || got.Response != nil {
				t.Errorf("%s: %+v", c.state, got)
			}
			continue
		}
		if got.Error != nil || len(got.Response.GeneratedVideos) != c.videos ||
			got.Response.RAIMediaFilteredCount != int32(c.filtered) ||
			len(got.Response.RAIMediaFilteredReasons) != c.filtered {
			t.Errorf("%s: %+v", c.state, got)
		}
	}

	raw := call(t, sim, "GET", "/v1beta/"+sim.Videos()[0].Name, "").Body.String()
	if strings.Contains(strings.ToLower(raw), "time") || strings.Contains(raw, "metadata") {
		t.Errorf("a video tells times: %s", raw)
	}
	_, err := client.Operations.GetVideosOperation(
		t.Context(), &genai.GenerateVideosOperation{Name: "models/other/operations/" + lastSegment(sim.Videos()[0].Name)},
		nil,
	)
	wantAPIError(t, err, 404, "NOT_FOUND")
	if st := sim.Stats(); st.VideoGets != 10 || st.Creates != 4 || st.BatchGets != 0 || st.Settled != 4 {
		t.Errorf("%+v", st)
	}
}

func lastSegment(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func TestVideoCanBeDownloaded(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	sim.Script("done", geminisim.Script{Hold: geminisim.VideoSucceeded})
	op, err := client.Operations.GetVideosOperation(t.Context(), film(t, client, "done"), nil)
	if err != nil {
		t.Fatal(err)
	}
	// The uri names Google's host, and the SDK asks its own base URL.
	data, err := client.Files.Download(
		t.Context(), genai.NewDownloadURIFromVideo(op.Response.GeneratedVideos[0].Video), nil,
	)
	if err != nil || !strings.Contains(string(data), lastSegment(op.Name)) {
		t.Errorf("%s %v", data, err)
	}
	if truth := sim.Videos()[0]; truth.ResultFile != "files/"+lastSegment(op.Name) {
		t.Errorf("%+v", truth)
	}
}

func TestOnlyAGeneratedVideoIsAnnounced(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, secret string) {
		call(
			t, sim, "POST", "/v1beta/webhooks",
			`{"uri":"https://receiver.example/videos","subscribed_events":["video.generated"]}`,
		)
		for _, final := range []geminisim.State{geminisim.VideoFailed, geminisim.VideoFiltered, geminisim.VideoEmpty,
			geminisim.VideoSucceeded} {
			sim.Script(string(final), geminisim.Script{Final: final})
			w := call(t, sim, "POST", "/v1beta/models/veo:predictLongRunning",
				`{"instances":[{"prompt":"`+string(final)+`"}],"webhookConfig":{"userMetadata":{"a":"b"}}}`)
			if w.Code != 200 {
				t.Fatal(w.Body)
			}
		}
		waitWithin(t, week, sim, over(4))
		all := rc.all()
		if len(all) != 1 || all[0].Event.Type != "video.generated" {
			t.Fatalf("delivered %+v", all)
		}
		truth := sim.Videos()[3]
		data := all[0].Event.Data
		if data["id"] != truth.Name || data["file_name"] != truth.ResultFile ||
			!strings.Contains(data["output_file_uri"].(string), truth.ResultFile) ||
			data["user_metadata"].(map[string]any)["a"] != "b" ||
			truth.Completion != geminisim.CompletionAccepted {
			t.Errorf("data %v, truth %+v", data, truth)
		}
		for _, v := range sim.Videos()[:3] {
			if v.Completion != geminisim.CompletionNone || v.EndTime.IsZero() {
				t.Errorf("%+v", v)
			}
		}
	})
}

func TestVideoEndsByShares(t *testing.T) {
	bubble(t, geminisim.Config{Seed: 2, Faults: geminisim.Faults{Failed: 0.2, Cancelled: 0.2, Expired: 0.2}}, nil,
		func(t *testing.T, sim *geminisim.Sim, _ *receiver, _ string) {
			for range 60 {
				call(t, sim, "POST", "/v1beta/models/veo:predictLongRunning", `{"instances":[{"prompt":"p"}]}`)
			}
			waitWithin(t, week, sim, over(60))
			states := map[geminisim.State]int{}
			for _, v := range sim.Videos() {
				states[v.State]++
			}
			for _, state := range []geminisim.State{geminisim.VideoSucceeded, geminisim.VideoFailed, geminisim.VideoFiltered,
				geminisim.VideoEmpty} {
				if states[state] < 4 {
					t.Errorf("states %v", states)
				}
			}
		})
}
