package examples

import (
	"database/sql"
	"testing"

	_ "modernc.org/sqlite"
)

// TestGo: the submitter in Go.
func TestGo(t *testing.T) {
	t.Parallel()
	s := submitter{
		command:    []string{goSubmit(t)},
		unanswered: "no answer says whether it was submitted", refused: "not submitted",
	}
	w := newWorld(t, nil)
	s.freesID(t, w)
	s.submitsOnce(t, w)
	s.neverRepeats(t)
	s.keepsKey(t)
}

// TestGoHandler: a handler of one's own writes one invoice for each operation that succeeds.
func TestGoHandler(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"OPLEDGER_EFFECTS=[{name: invoice, on: [SUCCEEDED], do: custom}]"})
	out, ok := run(t, "", w.env, goSubmit(t), "batch", "files/reviews", "night-1")
	if !ok {
		t.Fatal(out)
	}
	w.serve.await(`"message":"invoice written"`)
	db, err := sql.Open("sqlite", w.invoices)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it was only read
	var jobKind string
	if err := db.QueryRowContext(t.Context(), `SELECT job_kind FROM invoices`).Scan(&jobKind); err != nil {
		t.Fatal(err)
	}
	if jobKind != "example-batch" {
		t.Errorf("the invoice is for %q", jobKind)
	}
}
