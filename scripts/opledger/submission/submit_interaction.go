package submission

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/submit"
)

func newSubmitInteraction(outside terminal.Environment) *cobra.Command {
	var flags submitFlags
	var model, input string
	cmd := &cobra.Command{
		Use:   "interaction --model MODEL --input TEXT",
		Short: "Start an interaction in the background",
		Long: "Starts an interaction that runs in the background and is stored. Gemini cannot list interactions: if\n" +
			"this command dies before the interaction is registered, only its event can register it, and one that\n" +
			"stays incomplete has none.",
		Example: "  opledger submit interaction --model gemini-3.5-flash --input 'Summarise the reviews of November'",
		Args:    terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := interactions.NewInteractionsInput(input)
			body := operations.NewCreateInteractionRequestBody(interactions.CreateModelInteraction{
				Model: interactions.Model(model), Input: &text, WebhookConfig: &interactions.WebhookConfig{Uris: flags.uris()},
			})
			return flags.submit(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				return s.Interaction(ctx, flags.submission(), body)
			})
		},
	}
	flags.add(cmd, &outside)
	terminal.Required(cmd, &model, "model", "the model, such as gemini-3.5-flash")
	terminal.Required(cmd, &input, "input", "the text that the model gets")
	return cmd
}
