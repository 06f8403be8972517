package job_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/job"
)

// Every word that the SDK knows is decided, and is known.
func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for word, want := range map[genai.FinishReason]job.Outcome{
		genai.FinishReasonStop:                   job.OutcomeDone,
		genai.FinishReasonMaxTokens:              job.OutcomeTruncated,
		genai.FinishReasonSafety:                 job.OutcomeRefused,
		genai.FinishReasonRecitation:             job.OutcomeRefused,
		genai.FinishReasonLanguage:               job.OutcomeRefused,
		genai.FinishReasonBlocklist:              job.OutcomeRefused,
		genai.FinishReasonProhibitedContent:      job.OutcomeRefused,
		genai.FinishReasonSPII:                   job.OutcomeRefused,
		genai.FinishReasonImageSafety:            job.OutcomeRefused,
		genai.FinishReasonImageProhibitedContent: job.OutcomeRefused,
		genai.FinishReasonImageRecitation:        job.OutcomeRefused,
		"MISSING_THOUGHT_SIGNATURE":              job.OutcomeRefused,
		"MODEL_ARMOR":                            job.OutcomeRefused,
		genai.FinishReasonUnspecified:            job.OutcomeFailed,
		genai.FinishReasonOther:                  job.OutcomeFailed,
		genai.FinishReasonMalformedFunctionCall:  job.OutcomeFailed,
		"MALFORMED_RESPONSE":                     job.OutcomeFailed,
		genai.FinishReasonUnexpectedToolCall:     job.OutcomeFailed,
		genai.FinishReasonTooManyToolCalls:       job.OutcomeFailed,
		genai.FinishReasonNoImage:                job.OutcomeFailed,
		genai.FinishReasonImageOther:             job.OutcomeFailed,
		genai.FinishReasonContinuation:           job.OutcomeFailed,
	} {
		got := job.Judge(json.RawMessage(finished(string(word))), nil, nil)
		if got.Outcome != want || strings.Contains(got.Why, "not known") {
			t.Errorf("%s: %+v, want %s", word, got, want)
		}
	}
}

func TestBlockReasons(t *testing.T) {
	t.Parallel()
	for word, want := range map[genai.BlockedReason]job.Outcome{
		genai.BlockedReasonSafety:            job.OutcomeRefused,
		genai.BlockedReasonOther:             job.OutcomeRefused,
		genai.BlockedReasonBlocklist:         job.OutcomeRefused,
		genai.BlockedReasonProhibitedContent: job.OutcomeRefused,
		genai.BlockedReasonImageSafety:       job.OutcomeRefused,
		genai.BlockedReasonModelArmor:        job.OutcomeRefused,
		genai.BlockedReasonJailbreak:         job.OutcomeRefused,
		genai.BlockedReasonUnspecified:       job.OutcomeFailed,
	} {
		response := `{"promptFeedback":{"blockReason":"` + string(word) + `"}}`
		if got := job.Judge(json.RawMessage(response), nil, nil); got.Outcome != want {
			t.Errorf("%s: %+v, want %s", word, got, want)
		}
	}
}
