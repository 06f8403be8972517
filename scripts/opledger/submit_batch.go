package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/submit"
)

func newSubmitBatch(outside environment) *cobra.Command {
	var flags submitFlags
	var model, file, requests, displayName string
	cmd := &cobra.Command{
		Use:   "batch --model MODEL (--file files/ID | --requests FILE)",
		Short: "Start a batch",
		Long: "Starts a batch from a file that was uploaded to Gemini (--file), or from a file on this machine of\n" +
			"less than 20 MB (--requests). It has one JSON object per line:\n" +
			"{\"key\":\"review-17\",\"request\":{\"contents\":[…]}}.",
		Example: "  opledger submit batch --model gemini-3.5-flash --file files/reviews --job-kind batch-review-classify\n" +
			"  opledger submit batch --model gemini-3.5-flash --requests reviews.jsonl --correlation-id nightly-2026-11-21",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			source := &genai.BatchJobSource{FileName: file}
			if (file == "") == (requests == "") {
				return usageError{errors.New("pass either --file, with a file at Gemini, or --requests, with one on this machine")}
			}
			if requests != "" {
				var err error
				if source.InlinedRequests, err = readRequests(requests); err != nil {
					return usageError{prefixed("--requests", err)}
				}
			}
			return flags.submit(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				return s.Batch(ctx, flags.job, model, source,
					&genai.CreateBatchJobConfig{DisplayName: displayName, WebhookConfig: flags.webhook()})
			})
		},
	}
	flags.add(cmd, &outside)
	required(cmd, &model, "model", "the model, such as gemini-3.5-flash")
	cmd.Flags().StringVar(&file, "file", "", "the input, uploaded to Gemini: files/ID")
	cmd.Flags().StringVar(&requests, "requests", "", "the input, on this machine: a file of JSON lines")
	cmd.Flags().StringVar(&displayName, "display-name", "",
		"the batch's display name; the correlation id is appended to it")
	return cmd
}
