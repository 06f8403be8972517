package lookup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// video is the shape of a live answer.
func video(members string) string {
	return `{"name":"models/veo-3.1-generate-preview/operations/9p5ug42emn2z"` + members + `}`
}

// generated is the shape of a live answer that is done.
func generated(response string) string {
	return video(
		`,"done":true,"response":{"@type":"type.googleapis.com/google.ai.generativelanguage.v1beta.` +
			`PredictLongRunningResponse",` +
			`"generateVideoResponse":{` + response + `}}`,
	)
}

// TestLookupVideo covers the answers that the API was seen to give. None has a time [M4].
func TestLookupVideo(t *testing.T) {
	t.Parallel()
	const (
		uri    = "https://generativelanguage.googleapis.com/v1beta/files/abc:download?alt=media"
		sample = `{"video":{"uri":"` + uri + `"}}`
	)
	failed := func(state operation.State, code, message string) lookup.Answer {
		return lookup.Answer{State: state, Result: operation.Result{ErrorCode: code, ErrorMessage: message}}
	}
	for _, test := range []struct {
		name, body string
		want       lookup.Answer
		reason     string
	}{
		{"in progress: only a name", video(``), lookup.Answer{State: operation.Running}, ""},
		{"in progress, metadata", video(`,"done":false,"metadata":{"x":1}`), lookup.Answer{State: operation.Running}, ""},
		{
			"a video", generated(`"generatedSamples":[` + sample + `]`),
			lookup.Answer{State: operation.Succeeded, Result: operation.Result{OutputFile: uri}}, "",
		},
		{
			"some filtered",
			generated(`"generatedSamples":[` + sample + `,{"video":{"uri":"files/second"}}],"raiMediaFilteredCount":2`),
			lookup.Answer{State: operation.Succeeded, Result: operation.Result{OutputFile: uri}}, "",
		},
		{
			"the first is null", generated(`"generatedSamples":[{},` + sample + `]`),
			lookup.Answer{State: operation.Succeeded, Result: operation.Result{OutputFile: uri}}, "",
		},
		{
			"the video itself", generated(`"generatedSamples":[{"video":{"encodedVideo":"AAAA"}}]`),
			lookup.Answer{State: operation.Succeeded, Result: operation.Result{Inline: true}}, "",
		},
		{
			"R4 all filtered",
			generated(`"raiMediaFilteredCount":1,"raiMediaFilteredReasons":["unsafe","sound ` + apiKey + `"]`),
			failed(operation.Failed, "filtered", "unsafe; sound [API key]"), "",
		},
		{
			"R4 all filtered, an empty list", generated(`"generatedSamples":[],"raiMediaFilteredCount":2`),
			failed(operation.Failed, "filtered", ""), "",
		},
		{
			"an error", video(`,"done":true,"error":{"code":8,"message":"no quota","details":[{"@type":"x"}]}`),
			failed(operation.Failed, "8", "no quota"), "",
		},
		{
			"an error with a word", video(`,"done":true,"error":{"status":"INTERNAL","message":7}`),
			failed(operation.Failed, "INTERNAL", ""), "",
		},
		{
			"an error with a text code", video(`,"done":true,"error":{"code":"quota"}`), failed(operation.Failed, "quota", ""),
			"",
		},
		{
			"a verbose error", video(`,"done":true,"error":{"code":13,"message":"` + strings.Repeat("x", 5000) + `"}`),
			failed(operation.Failed, "13", strings.Repeat("x", 4093)+"…"), "",
		},
		{
			"R4 cancelled", video(`,"done":true,"error":{"code":1,"message":"by x"}`), failed(operation.Cancelled, "1", "by x"),
			"",
		},
		{"done without a name", `{"done":true,"error":{"code":3}}`, failed(operation.Failed, "3", ""), ""},
		{"R4 done, and nothing", video(`,"done":true`), lookup.Answer{}, lookup.Indeterminate},
		{"R4 done, no samples", generated(`"generatedSamples":[]`), lookup.Answer{}, lookup.Indeterminate},
		{
			"R4 done, a sample of nothing", generated(`"generatedSamples":[{"video":{}}]`), lookup.Answer{},
			lookup.Indeterminate,
		},
		{"R4 done, an empty error", video(`,"done":true,"error":{}`), lookup.Answer{}, lookup.Indeterminate},
		{"R4 an error body", `{"error":{"code":404,"message":"not here"}}`, lookup.Answer{}, lookup.NoState},
		{"R4 an error that is not done", video(`,"error":{"code":13}`), lookup.Answer{}, lookup.NoState},
		{"R4 {}", `{}`, lookup.Answer{}, lookup.NoState},
		{"R4 empty", ``, lookup.Answer{}, lookup.BadAnswer},
		{"R4 HTML", `<html>`, lookup.Answer{}, lookup.BadAnswer},
		{"R4 another video", `{"name":"models/veo/operations/other","done":true}`, lookup.Answer{}, lookup.BadAnswer},
		{"R4 done is a text", video(`,"done":"yes"`), lookup.Answer{}, lookup.BadAnswer},
		{"R6 null", `null`, lookup.Answer{}, lookup.BadAnswer},
		{
			"R6 response is a text", video(`,"done":true,"response":{"generateVideoResponse":"` + apiKey + `"}`),
			lookup.Answer{}, lookup.Indeterminate,
		},
		{"R6 samples are a text", generated(`"generatedSamples":"x"`), lookup.Answer{}, lookup.Indeterminate},
		{
			"R4 the count is a text", generated(`"raiMediaFilteredCount":"1","raiMediaFilteredReasons":[7,"unsafe"]`),
			failed(operation.Failed, "filtered", "; unsafe"), "",
		},
		{
			"R4 odd samples hide no error",
			video(`,"done":true,"error":{"code":13},"response":{"generateVideoResponse":{"generatedSamples":{}}}`),
			failed(operation.Failed, "13", ""), "",
		},
		{"R4 a sample is null", generated(`"generatedSamples":[null]`), lookup.Answer{}, lookup.Indeterminate},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, says(200, test.body)).Lookup(t.Context(), operationName(t, names[1]))
			if test.reason != "" {
				checkUnknown(t, got, test.reason)
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !got.Known() {
				t.Errorf("known %v, -want +got\n%s", got.Known(), diff)
			}
		})
	}
}
