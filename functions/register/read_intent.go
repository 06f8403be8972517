package register

import (
	"net/http"
	"strings"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/operation"
)

// intentPath is before the correlation id of the intent that is read.
const intentPath = "/intents/"

// readIntent answers GET /intents/{id}, such as /intents/nightly-2026-11-21, with what is known of a
// correlation id: one document read, and no write. A submitter asks before it uploads a file: where the
// intent is bound, its operation exists, and POST /register would say so only after the upload [G6].
func (h handler) readIntent(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, intentPath)
	var problems operation.Problems
	problems.When(id == "", "correlationId", "it is empty; write it after %s", intentPath)
	problems.AddID("correlationId", id)
	if problems = append(problems, unknownParameters(r)...); len(problems) > 0 {
		httpfunc.WriteError(w, bad(problems))
		return
	}
	intent, err := h.Ledger.Intents.Read(r.Context(), id)
	httpfunc.WriteResult(w, http.StatusOK, intent, err)
}
