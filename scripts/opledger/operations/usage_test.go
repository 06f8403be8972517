package operations_test

import (
	"errors"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestUsage: jobs are added up by what --by names, and those before --since are left out.
func TestUsage(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	commandtest.Run(t, variables, "usage").Want(t, terminal.ExitDone).Says(t, "no jobs since ")
	submitJob(t, f, 4)
	var told struct {
		Usage []struct {
			Kind, Model    string
			Jobs, Requests int64
		}
	}
	commandtest.OneObject(t, commandtest.Run(t, variables, "usage", "--by", "kind", "--since", "1d", "--json").Want(t,
		terminal.ExitDone).Out, &told)
	if len(told.Usage) != 1 || told.Usage[0].Kind != "reviews" || told.Usage[0].Model != "" ||
		told.Usage[0].Requests != 4 {
		t.Errorf("%+v", told)
	}
	commandtest.Run(t, variables, "usage", "--since", "2100-01-01T00:00:00Z").Want(t, terminal.ExitDone).Says(t,
		"no jobs since ")
	commandtest.Run(t, variables, "usage", "--by", "day").Want(t, terminal.ExitUsage, "--by: it must be kind or model").
		Complaint(t)
	commandtest.Run(t, variables, "usage", "--since", "soon").Want(t, terminal.ExitUsage, "--since: ").Complaint(t)
}

// TestUsageUnreadable: numbers that lack a job do not look whole.
func TestUsageUnreadable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath("jobs/other"), Data: struct {
		Collection operation.Collection `json:"collection"`
		CreatedAt  time.Time            `json:"createdAt"`
		State      int                  `json:"state"`
	}{operation.Jobs, time.Now(), 5}})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, variables, "usage").Want(t, terminal.ExitFailed, "jobs:other left alone",
		"the numbers leave out 1 document that cannot be read").Says(t, "reviews")
}
