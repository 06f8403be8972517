package submit

import (
	"cmp"
	"maps"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini"
)

// A Mark is added to an operation, so that it can be found again.
type Mark struct{ CorrelationID string }

// Metadata returns own, the caller's user metadata, with the correlation id added. Gemini repeats
// it in the operation's events [K6]. own is not changed.
func (m Mark) Metadata(own map[string]any) map[string]any {
	marked := make(map[string]any, len(own)+1)
	maps.Copy(marked, own)
	marked[gemini.CorrelationKey] = m.CorrelationID
	return marked
}

// webhook returns own with the mark. own may be nil.
func (m Mark) webhook(own *genai.WebhookConfig) *genai.WebhookConfig {
	marked := *cmp.Or(own, &genai.WebhookConfig{})
	marked.UserMetadata = m.Metadata(marked.UserMetadata)
	return &marked
}

// once returns own with the SDK's retries switched off. own may be nil.
func once(own *genai.HTTPOptions) *genai.HTTPOptions {
	options := *cmp.Or(own, &genai.HTTPOptions{})
	attempts := int32(1)
	options.RetryOptions = &genai.HTTPRetryOptions{Attempts: &attempts}
	return &options
}
