package operation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestErrorCodeHasOneForm: a record keeps an error's code in one form, whichever path brought it [M7].
// What is no code of google.rpc stays as it came.
func TestErrorCodeHasOneForm(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"13": "INTERNAL", "INTERNAL": "INTERNAL", "internal": "INTERNAL", "1": "CANCELLED", "16": "UNAUTHENTICATED",
		"not_found": "NOT_FOUND", "8": "RESOURCE_EXHAUSTED",
		"": "", "0": "0", "17": "17", "-1": "-1", "429": "429", "incomplete": "incomplete", "filtered": "filtered",
	} {
		e := operation.Event{State: operation.Failed, Result: operation.Result{ErrorCode: code}}
		for _, was := range []operation.State{operation.Running, operation.Failed} {
			rec := operation.Apply(operation.Record{State: was}, e, time.Now())
			if rec.Result.ErrorCode != want {
				t.Errorf("%q is kept as %q, want %q", code, rec.Result.ErrorCode, want)
			}
		}
	}
}

// TestReport: the result in an answer has every field, and null where it was not reported.
func TestReport(t *testing.T) {
	t.Parallel()
	for want, result := range map[string]operation.Result{
		`{"outputFile":null,"inline":null,"errorCode":null,"errorMessage":null,"counts":null}`: {},
		`{"outputFile":"files/a","inline":false,"errorCode":null,"errorMessage":null,"counts":null}`: {
			OutputFile: "files/a",
		},
		`{"outputFile":null,"inline":true,"errorCode":"INTERNAL","errorMessage":"it broke",` +
			`"counts":{"total":1,"succeeded":0,"failed":1,"pending":0}}`: {
			Inline: true, ErrorCode: "INTERNAL", ErrorMessage: "it broke", Counts: &operation.Counts{Total: 1, Failed: 1},
		},
	} {
		text, err := json.Marshal(operation.Record{Key: "batches/a", Result: result}.Report())
		var got struct {
			Key    operation.Key
			Result json.RawMessage
		}
		if err != nil || json.Unmarshal(text, &got) != nil || string(got.Result) != want || got.Key != "batches/a" {
			t.Errorf("%s %v, want the result %s", text, err, want)
		}
	}
}
