// Package submission has the commands that begin an operation: submit starts one at Gemini, and register
// records one that runs. Flags and Lines are what a submitter says of it, as typed and as printed.
package submission

import (
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
)

// submissionFlags are the flags for what a submitter says.
type submissionFlags struct {
	said            operation.Submission
	metadata, trace string
}

// add adds the flags to a command. correlation says what --correlation-id is there.
func (f *submissionFlags) add(cmd *cobra.Command, correlation string) {
	cmd.Flags().StringVar(&f.said.CorrelationID, "correlation-id", "", correlation)
	f.addLabels(cmd)
}

// addLabels adds the flags without --correlation-id.
func (f *submissionFlags) addLabels(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.said.JobKind, "job-kind", "", "your label for what the job is for")
	cmd.Flags().StringVar(&f.metadata, "metadata", "", "a JSON object of your own, for the ledger and the effects")
	cmd.Flags().StringVar(&f.trace, "traceparent", "",
		"the W3C trace context that effects continue, such as \"$TRACEPARENT\"")
}

// submission returns what the flags say, for Validate to check.
func (f *submissionFlags) submission() operation.Submission {
	said := f.said
	said.TraceParent = operation.ParseTraceParent(f.trace)
	var err error
	if said.Metadata, err = operation.ParseMetadata([]byte(f.metadata)); err != nil {
		said.Metadata = operation.Metadata(f.metadata)
	}
	return said
}

// Lines prints each field that a submitter gave.
func Lines(out *terminal.Table, said operation.Submission) {
	out.Field("  job kind", said.JobKind)
	out.Field("  correlation id", said.CorrelationID)
	out.Field("  metadata", string(said.Metadata))
	out.Field("  trace", said.TraceParent.Trace())
}
