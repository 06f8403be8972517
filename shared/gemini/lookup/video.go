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

// lookupVideo looks up one video.
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

// videoAnswer returns the answer that a video gives. Gemini gives no time for a video, so the
// answer loses every tie [M4].
func (c *Client) videoAnswer(name operation.Name, video *genai.GenerateVideosOperation) Answer {
	code, message := errorOf(video.Error)
	switch {
	case !video.Done && len(video.Error) > 0:
		return unknown(c.problem(name.Resource, NoState, "the answer is an error: %s: %s", code, message))
	case !video.Done && video.Name == "":
		return unknown(c.problem(name.Resource, NoState, "the answer has no name and no state"))
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
