package submission

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/submit"
)

func newSubmitVideo(outside terminal.Environment) *cobra.Command {
	var flags submitFlags
	var model, prompt string
	cmd := &cobra.Command{
		Use:   "video --model MODEL --prompt TEXT",
		Short: "Start the generation of a video",
		Long: "Starts the generation of a video. Gemini cannot list videos: if this command dies before the video is\n" +
			"registered, only the video's event can register it, and a video that fails has none.",
		Example: "  opledger submit video --model veo-3.1-generate-preview --prompt 'a cat on a train'",
		Args:    terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.submit(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				return s.Video(ctx, flags.submission(), model, &genai.GenerateVideosSource{Prompt: prompt},
					&genai.GenerateVideosConfig{WebhookConfig: flags.webhook()})
			})
		},
	}
	flags.add(cmd, &outside)
	terminal.Required(cmd, &model, "model", "the model, such as veo-3.1-generate-preview")
	terminal.Required(cmd, &prompt, "prompt", "what the video should show")
	return cmd
}
