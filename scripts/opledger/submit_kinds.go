package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/submit"
)

func newSubmitBatch(outside environment) *cobra.Command {
	var flags submitFlags
	var model, file, requests, displayName string
	cmd := &cobra.Command{
		Use:   "batch --model MODEL (--file files/ID | --requests FILE)",
		Short: "Start a batch",
		Long: "Starts a batch from a file that was uploaded to Gemini (--file), or with the requests in a file on this machine, below\n" +
			"20 MB (--requests), one JSON object a line: {\"key\":\"review-17\",\"request\":{\"contents\":[…]}}.",
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
			return flags.submitting(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				return s.Batch(ctx, flags.job, model, source, &genai.CreateBatchJobConfig{DisplayName: displayName, WebhookConfig: flags.webhook()})
			})
		},
	}
	flags.add(cmd)
	needed(cmd, &model, "model", "the model, such as gemini-3.5-flash")
	cmd.Flags().StringVar(&file, "file", "", "the input, uploaded to Gemini: files/ID")
	cmd.Flags().StringVar(&requests, "requests", "", "the input, on this machine: a file of JSON lines")
	cmd.Flags().StringVar(&displayName, "display-name", "", "the batch's name for people; the correlation id is put behind it")
	return cmd
}

func newSubmitVideo(outside environment) *cobra.Command {
	var flags submitFlags
	var model, prompt string
	cmd := &cobra.Command{
		Use:   "video --model MODEL --prompt TEXT",
		Short: "Start the generation of a video",
		Long: "Starts the generation of a video. Videos cannot be listed: if this command dies before the video is registered, only\n" +
			"the video's event can register it, and a video that fails has none.",
		Example: "  opledger submit video --model veo-3.1-generate-preview --prompt 'a cat on a train'",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.submitting(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				return s.Video(ctx, flags.job, model, &genai.GenerateVideosSource{Prompt: prompt}, &genai.GenerateVideosConfig{WebhookConfig: flags.webhook()})
			})
		},
	}
	flags.add(cmd)
	needed(cmd, &model, "model", "the model, such as veo-3.1-generate-preview")
	needed(cmd, &prompt, "prompt", "what the video is to show")
	return cmd
}

func newSubmitInteraction(outside environment) *cobra.Command {
	var flags submitFlags
	var model, input string
	cmd := &cobra.Command{
		Use:   "interaction --model MODEL --input TEXT",
		Short: "Start an interaction in the background",
		Long: "Starts an interaction that runs in the background and is stored. Interactions cannot be listed: if this command dies\n" +
			"before the interaction is registered, only its event can register it, and one that stays incomplete has none.",
		Example: "  opledger submit interaction --model gemini-3.5-flash --input 'Summarise the reviews of November'",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := interactions.NewInteractionsInput(input)
			body := operations.NewCreateInteractionRequestBody(interactions.CreateModelInteraction{
				Model: interactions.Model(model), Input: &text, WebhookConfig: &interactions.WebhookConfig{Uris: flags.uris()},
			})
			return flags.submitting(cmd, outside, func(ctx context.Context, s *submit.Submitter) (submit.Submitted, error) {
				return s.Interaction(ctx, flags.job, body)
			})
		},
	}
	flags.add(cmd)
	needed(cmd, &model, "model", "the model, such as gemini-3.5-flash")
	needed(cmd, &input, "input", "what is asked")
	return cmd
}

// needed adds a flag that must be given.
func needed(cmd *cobra.Command, value *string, name, usage string) {
	cmd.Flags().StringVar(value, name, "", usage+"; required")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *value == "" {
			return usageError{errors.New("--" + name + ": it is missing; see " + cmd.CommandPath() + " --help")}
		}
		return run(cmd, args)
	}
}
