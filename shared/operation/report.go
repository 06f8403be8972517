package operation

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A Report is a record as callers are answered: with its result in one shape.
type Report struct {
	Record
	Result Reported `json:"result"`
}

// Report returns the record for an answer.
func (r Record) Report() Report { return Report{Record: r, Result: Reported(r.Result)} }

// Reported is a Result as callers and receivers get it, in one shape whichever path brought it. Every
// field is there, and null where it was not reported: a webhook reports less than a look-up.
type Reported Result

// MarshalJSON implements json.Marshaler.
func (r Reported) MarshalJSON() ([]byte, error) {
	told := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	var inline *bool
	if r.Inline || r.OutputFile != "" { // a file says that it is not inline
		inline = &r.Inline
	}
	return json.Marshal(struct { //nolint:wrapcheck // these fields can be encoded
		OutputFile   *string `json:"outputFile"`
		Inline       *bool   `json:"inline"`
		ErrorCode    *string `json:"errorCode"`
		ErrorMessage *string `json:"errorMessage"`
		Counts       *Counts `json:"counts"`
	}{told(r.OutputFile), inline, told(r.ErrorCode), told(r.ErrorMessage), r.Counts})
}

// errorCodes returns the words of google.rpc.Code, each at its number.
func errorCodes() []string {
	return []string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
		"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
}

// errorCode returns an error's code in the one form that a record keeps: the word of google.rpc.Code
// where it is its number or its word in any case. Any other code stays as it came, such as 429.
func errorCode(code string) string {
	words := errorCodes()
	if n, _ := strconv.Atoi(code); n > 0 && n < len(words) { // a text is 0
		return words[n]
	}
	if word := strings.ToUpper(code); slices.Contains(words, word) {
		return word
	}
	return code
}
