package lookup

import (
	"context"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/operation"
)

const (
	// filtered is the error code of a video that Gemini made and withheld: it has no code of its
	// own for that.
	filtered = "filtered"
	// codeCancelled is gRPC's code in the error of a cancelled operation.
	codeCancelled = "1"
)

// videoPath is the name as Gemini gave it, with the model in front: the operation's key alone is
// not enough for it [K5]. Only the collection's word is spelt as the API spells it.
func videoPath(name operation.Name) string {
	segments := strings.FieldsFunc(name.Resource, func(r rune) bool { return r == '/' })
	return strings.Join(append(segments[:max(len(segments)-2, 0)], string(name.Key)), "/")
}

// lookupVideo asks for one video.
func (c *Client) lookupVideo(ctx context.Context, name operation.Name, path string) (answer Answer) {
	defer c.survive(name, &answer)
	ctx, x := c.api.Watch(ctx)
	video, err := c.sdk.Operations.GetVideosOperation(ctx, &genai.GenerateVideosOperation{Name: path}, nil)
	if err = x.Err(err); err == nil {
		err = isAbout(name, video.Name)
	}
	if err != nil {
		return unknown(c.failure(name.Resource, err))
	}
	return c.videoAnswer(name, video)
}

// videoAnswer says how a video stands. Gemini gives no time for it, so the answer has none and
// loses every tie [M4].
func (c *Client) videoAnswer(name operation.Name, video *genai.GenerateVideosOperation) Answer {
	code, message := errorOf(video.Error)
	switch {
	case !video.Done && len(video.Error) > 0:
		return unknown(c.problem(name.Resource, NoState, "the answer is an error: %s: %s", code, message))
	case !video.Done && video.Name == "":
		return unknown(c.problem(name.Resource, NoState, "the answer says nothing"))
	case !video.Done:
		return known(operation.Running, time.Time{}, operation.Result{})
	case len(video.Error) > 0:
		state := operation.Failed
		if code == codeCancelled {
			state = operation.Cancelled
		}
		return c.ended(state, code, message)
	}
	response := video.Response
	if response == nil {
		response = new(genai.GenerateVideosResponse)
	}
	for _, sample := range response.GeneratedVideos {
		if sample != nil && sample.Video != nil && (sample.Video.URI != "" || len(sample.Video.VideoBytes) > 0) {
			return known(operation.Succeeded, time.Time{}, operation.Result{
				OutputFile: sample.Video.URI, Inline: sample.Video.URI == "",
			})
		}
	}
	if response.RAIMediaFilteredCount > 0 {
		return c.ended(operation.Failed, filtered, strings.Join(response.RAIMediaFilteredReasons, "; "))
	}
	return unknown(c.problem(name.Resource, Indeterminate, "it is done, and has neither a video nor an error"))
}

// ended is the answer for a video that came to nothing.
func (c *Client) ended(state operation.State, code, message string) Answer {
	code, message = c.errorTexts(code, message)
	return known(state, time.Time{}, operation.Result{ErrorCode: code, ErrorMessage: message})
}

// errorOf reads an operation's error. Its code is gRPC's number, or else a word.
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
