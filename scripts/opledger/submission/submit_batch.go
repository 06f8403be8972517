package submission

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/submit"
)

func newSubmitBatch(outside terminal.Environment) *cobra.Command {
	var flags submitFlags
	var model, file, requests, displayName string
	cmd := &cobra.Command{
		Use:   "batch --model MODEL (--file files/ID | --requests FILE)",
		Short: "Start a batch",
		Long: "Starts a batch from a file that was uploaded to Gemini (--file), or from a file on this machine\n" +
			"(--requests), which it uploads. It has one JSON object per line, each with a key of its own:\n" +
			"{\"key\":\"review-17\",\"request\":{\"contents\":[…]}}.",
		Example: "  opledger submit batch --model gemini-3.5-flash --file files/reviews --job-kind batch-review-classify\n" +
			"  opledger submit batch --model gemini-3.5-flash --requests reviews.jsonl --correlation-id nightly-2026-11-21",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (file == "") == (requests == "") {
				return terminal.Usage(errors.New(
					"pass either --file, with a file at Gemini, or --requests, with one on this machine"))
			}
			var lines *os.File
			if requests != "" {
				var err error
				if lines, err = os.Open(requests); err != nil {
					return terminal.Usage(terminal.Prefixed("--requests", err))
				}
				defer func() { _ = lines.Close() }() // it was only read
			}
			return flags.submit(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				batch := &genai.CreateBatchJobConfig{DisplayName: displayName, WebhookConfig: flags.webhook()}
				if file != "" {
					return s.Batch(ctx, flags.submission(), model, &genai.BatchJobSource{FileName: file}, batch)
				}
				submitted, err := s.Requests(ctx, flags.submission(), model, lines, batch)
				if errors.Is(err, submit.ErrInput) {
					err = terminal.Prefixed("--requests", err)
				}
				return submitted, err
			})
		},
	}
	flags.add(cmd, &outside)
	terminal.Required(cmd, &model, "model", "the model, such as gemini-3.5-flash")
	cmd.Flags().StringVar(&file, "file", "", "the input, uploaded to Gemini: files/ID")
	cmd.Flags().StringVar(&requests, "requests", "", "the input, on this machine: a file of JSON lines")
	cmd.Flags().StringVar(&displayName, "display-name", "",
		"the batch's display name; the correlation id is appended to it")
	return cmd
}
