package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// printPending prints the operations that are waited for, and why.
func printPending(w io.Writer, page ledger.Page[operation.Record], now time.Time) error {
	if len(page.Items)+len(page.Broken) == 0 {
		_, err := fmt.Fprintln(w, "no operation is waited for")
		return err
	}
	rows := make([][]any, len(page.Items))
	for i, r := range page.Items {
		rows[i] = []any{
			safe(string(r.Key)), stateWord(r), safe(r.JobKind), span(now.Sub(r.SubmittedAt)), r.Attempts, r.DueAt,
			whyPending(r, now),
		}
	}
	headings := []any{"OPERATION", "STATE", "JOB KIND", "AGE", "LOOK-UPS", "NEXT LOOK-UP", "WHY"}
	return printPage(w, headings, rows, page.Broken, page.Next)
}

// whyPending says why an operation is still waited for.
func whyPending(r operation.Record, now time.Time) string {
	var words []string
	switch {
	case r.HasCondition():
		words = append(words, conditionWords(r))
	case r.State == operation.RequiresAction:
		words = append(words, "it waits for its submitter")
	case r.State == operation.Running:
		words = append(words, "Gemini runs it")
	case r.Attempts == 0 && r.DueAt.After(now):
		words = append(words, "young: not looked up yet")
	case r.Attempts == 0:
		words = append(words, "not looked up yet: reconcile is due")
	default:
		words = append(words, "Gemini has not started it")
	}
	if !r.StuckSince.IsZero() {
		words = append(words, "pending for too long since "+localTime(r.StuckSince))
	}
	return strings.Join(words, "; ")
}
