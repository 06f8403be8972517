package lookup

import (
	"context"
	"io"
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

// videoPath is the name as Gemini gave it, with the model in front, because the API does not accept
// the key alone [K5]. Only the collection is written as the API writes it.
func videoPath(name operation.Name) string {
	segments := strings.FieldsFunc(name.Resource, func(r rune) bool { return r == '/' })
	return strings.Join(append(segments[:max(len(segments)-2, 0)], string(name.Key)), "/")
}

// A video is what the ledger needs of Gemini's answer.
type video struct {
	Name     string         `json:"name"`
	Done     bool           `json:"done"`
	Error    map[string]any `json:"error"`
	Response struct {
		Generated struct {
			Samples []struct {
				Video struct {
					URI     string `json:"uri"`
					Encoded string `json:"encodedVideo"`
				} `json:"video"`
			} `json:"generatedSamples"`
			FilteredCount   int      `json:"raiMediaFilteredCount"`
			FilteredReasons []string `json:"raiMediaFilteredReasons"`
		} `json:"generateVideoResponse"`
	} `json:"response"`
}

// lookupVideo looks up one video.
func (c *Client) lookupVideo(ctx context.Context, name operation.Name, path string) Answer {
	var v video
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) error {
		if err := api.ReadObject(body, &v); err != nil {
			return err
		}
		return isAbout(name, v.Name)
	})
	if failure != nil {
		return unknown(failure)
	}
	return c.videoAnswer(name, v)
}

// videoAnswer returns the answer that a video gives. Gemini gives no time for a video, so the
// answer loses every tie [M4].
func (c *Client) videoAnswer(name operation.Name, v video) Answer {
	code, message := errorOf(v.Error)
	switch {
	case !v.Done && len(v.Error) > 0:
		return unknown(c.problem(name.Resource, NoState, "the answer is an error: %s: %s", code, message))
	case !v.Done && v.Name == "":
		return unknown(c.problem(name.Resource, NoState, "the answer has no name and no state"))
	case !v.Done:
		return known(operation.Running, time.Time{}, operation.Result{})
	case len(v.Error) > 0:
		state := operation.Failed
		if code == codeCancelled {
			state = operation.Cancelled
		}
		return c.ended(state, code, message)
	}
	for _, sample := range v.Response.Generated.Samples {
		if sample.Video.URI != "" || sample.Video.Encoded != "" {
			return known(operation.Succeeded, time.Time{}, operation.Result{
				OutputFile: sample.Video.URI, Inline: sample.Video.URI == "",
			})
		}
	}
	if v.Response.Generated.FilteredCount > 0 {
		return c.ended(operation.Failed, filtered, strings.Join(v.Response.Generated.FilteredReasons, "; "))
	}
	return unknown(c.problem(name.Resource, Indeterminate, "it is done, and has neither a video nor an error"))
}

// ended is the answer for a video that was not made.
func (c *Client) ended(state operation.State, code, message string) Answer {
	code, message = c.errorTexts(code, message)
	return known(state, time.Time{}, operation.Result{ErrorCode: code, ErrorMessage: message})
}

// errorOf returns an operation's error. Its code is a gRPC code, or else a word.
func errorOf(failure map[string]any) (code, message string) {
	switch value := failure["code"].(type) {
	case float64:
		code = strconv.FormatFloat(value, 'f', -1, 64)
	case string:
		code = value
	default:
		code, _ = failure["status"].(string)
	}
	message, _ = failure["message"].(string)
	return code, message
}
