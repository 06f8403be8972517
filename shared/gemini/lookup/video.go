package lookup

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// filtered is the error code of a video that Gemini made and withheld, for which it has no
	// code.
	filtered = "filtered"
	// codeCancelled is gRPC's code in the error of a cancelled operation.
	codeCancelled = "1"
)

// A video is what the ledger needs of Gemini's answer.
type video struct {
	name     string
	done     bool
	failure  api.Failure
	made     bool
	uri      string // of the first that was made; "" if it is in the answer
	filtered string // how many were withheld
	reasons  []string
}

func (v *video) about() string { return v.name }

// Members are what is read of a video.
func (v *video) Members() api.Members {
	return api.Members{
		"name":  api.Text(&v.name),
		"done":  api.Bool(&v.done),
		"error": v.failure.Read,
		"response": api.Object(api.Members{"generateVideoResponse": api.Object(api.Members{
			"generatedSamples":      api.Each(api.Object(api.Members{"video": v.readSample})),
			"raiMediaFilteredCount": api.Scalar(&v.filtered),
			"raiMediaFilteredReasons": api.Each(func(s *api.JSON) error {
				v.reasons = append(v.reasons, "")
				return s.Text(&v.reasons[len(v.reasons)-1])
			}),
		})}),
	}
}

// readSample reads where one video is.
func (v *video) readSample(s *api.JSON) error {
	var uri, encoded string
	err := api.Object(api.Members{"uri": api.Text(&uri), "encodedVideo": api.Text(&encoded)})(s)
	if !v.made && (uri != "" || encoded != "") {
		v.made, v.uri = true, uri
	}
	return err
}

// answer returns the answer that a video gives. Gemini gives no time for a video, so the
// answer loses every tie [M4].
func (v *video) answer(c *Client, resource string) Answer {
	code := cmp.Or(v.failure.Code, v.failure.Status) // a gRPC code, or else a word
	switch {
	case !v.done && v.failure.There:
		return unknown(c.problem(resource, NoState, "the answer is an error: %s: %s", code, v.failure.Message))
	case !v.done && v.name == "":
		return unknown(c.problem(resource, NoState, "the answer has no name and no state"))
	case !v.done:
		return known(operation.Running, time.Time{}, operation.Result{})
	case v.failure.There:
		state := operation.Failed
		if code == codeCancelled {
			state = operation.Cancelled
		}
		return c.ended(state, code, v.failure.Message)
	case v.made:
		return known(operation.Succeeded, time.Time{}, operation.Result{OutputFile: v.uri, Inline: v.uri == ""})
	}
	if n, err := strconv.Atoi(v.filtered); err == nil && n > 0 {
		return c.ended(operation.Failed, filtered, strings.Join(v.reasons, "; "))
	}
	return unknown(c.problem(resource, Indeterminate, "it is done, and has neither a video nor an error"))
}

// ended is the answer for a video that was not made.
func (c *Client) ended(state operation.State, code, message string) Answer {
	code, message = c.errorTexts(code, message)
	return known(state, time.Time{}, operation.Result{ErrorCode: code, ErrorMessage: message})
}
