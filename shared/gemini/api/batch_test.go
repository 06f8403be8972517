package api_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// whole is a batch with everything that is read of one.
const whole = `{"name":"batches/a","metadata":{"state":"BATCH_STATE_SUCCEEDED","displayName":"nightly",` +
	`"createTime":"2026-01-22T11:00:00Z","updateTime":"2026-01-22T12:00:00Z","endTime":"2026-01-22T11:59:59Z",` +
	`"inputConfig":{"fileName":"files/in","x":1},"batchStats":{"requestCount":"3","failedRequestCount":1},` +
	`"output":{"responsesFile":"files/out"}},"done":true,"error":{"code":13,"message":"broken","status":"INTERNAL"}}`

// TestReadBatch: what is read of a batch, alone and in a page.
func TestReadBatch(t *testing.T) {
	t.Parallel()
	want := api.Batch{
		Name: "batches/a", DisplayName: "nightly", State: "BATCH_STATE_SUCCEEDED", InputFile: "files/in",
		CreateTime: "2026-01-22T11:00:00Z", UpdateTime: "2026-01-22T12:00:00Z", EndTime: "2026-01-22T11:59:59Z",
		Result:  operation.Result{OutputFile: "files/out", Counts: &operation.Counts{Total: 3, Failed: 1}},
		Failure: api.Failure{There: true, Code: "13", Status: "INTERNAL", Message: "broken"},
	}
	got, err := api.ReadBatch(strings.NewReader(whole))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	if got.Known() != operation.Succeeded || !got.Since().Equal(noon) {
		t.Errorf("%s since %s", got.Known(), got.Since())
	}
	var next string
	var entries []api.Batch
	page := `{"operations":[null,` + whole + `],"nextPageToken":"2"}`
	failure, err := api.ReadBatches(strings.NewReader(page), &next, func(b api.Batch) error {
		entries = append(entries, b)
		return nil
	})
	if diff := cmp.Diff([]api.Batch{{}, want}, entries); err != nil || diff != "" || next != "2" || failure.There {
		t.Errorf("%+v, next %q, %v, -want +got\n%s", failure, next, err, diff)
	}
	failure, err = api.ReadBatches(strings.NewReader(`{"error":{"code":503}}`), &next, nil)
	if says := failure.Complaint(); err != nil || says != ", but the error 503: " {
		t.Errorf("%q, %v", says, err)
	}
	if _, err := api.ReadBatch(strings.NewReader(whole[:len(whole)-1])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut short: %v", err)
	}
}
